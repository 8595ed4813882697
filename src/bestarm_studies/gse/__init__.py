"""Fixed-budget best-arm identification in structured bandits (Azizi, Kveton, Ghavamzadeh, IJCAI 2022)."""
