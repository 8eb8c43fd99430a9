"""Plan -> Program: lowers a plan to instructions with static addresses, the only form that back ends see."""
