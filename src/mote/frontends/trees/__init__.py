"""Tree ensembles of scikit-learn, XGBoost and LightGBM."""
