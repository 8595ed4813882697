"""An autoencoder whose bottleneck is an embedding."""
