"""FastXML, an ensemble of trees that ranks many labels, and its precision on a grid of its hyper-parameters.

The paper is Prabhu, Varma, "FastXML: A Fast, Accurate and Stable Tree-classifier for eXtreme Multi-label Learning", KDD
2014; sections are its.
"""
