"""Plan -> Program: instructions with static addresses, the only form that back ends see."""
