"""Learning on the device without gradients: classifiers over the features of a frozen network.

A learner is two operators over the same states. Its update takes features and a label, learns the sample and gives
`seen`, int32 [1]: how many samples the learner holds of that class (1, where it holds none but weights), or 0 where
nothing was learned, because the label is none of its classes or a feature is no number. Its scores read the states, and
the highest score is the best class. A class is new on the device where nothing was learned of it yet; how many classes
there can be is fixed when the model is compiled.
"""
