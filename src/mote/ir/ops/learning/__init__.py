"""On-device learning without gradients: classifiers over the features of a frozen network.

A learner is two operators over common states. Its update operator takes features and a label, learns the sample and
outputs `seen`, int32 [1]: the number of samples of that class (1 if the learner keeps no counts), or 0 if nothing was
learned because the label is invalid, or a feature NaN or too large. Its scores operator reads the states; the highest
score is the best class. Classes can be added on the device by learning samples of them; the maximum number of classes
is fixed when the model is compiled.
"""
