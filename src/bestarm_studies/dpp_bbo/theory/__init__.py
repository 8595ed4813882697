"""The analysis, checked: one module a theorem or statement, with its rows, values, figure and check."""
