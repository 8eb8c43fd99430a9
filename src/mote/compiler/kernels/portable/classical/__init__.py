"""Kernels of object detection, decision trees, distances and support vector machines."""

from mote.compiler.kernels.portable.classical import detection, distances_svm, forest

KERNELS = (*detection.KERNELS, *forest.KERNELS, *distances_svm.KERNELS)
