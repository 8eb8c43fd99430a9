"""Forests: decision trees of scikit-learn, XGBoost and LightGBM."""
