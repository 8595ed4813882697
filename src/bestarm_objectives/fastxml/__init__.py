"""FastXML, an ensemble of trees that ranks many labels, and its precision on a grid of its hyper-parameters."""
