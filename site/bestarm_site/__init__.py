"""The site: pages made from committed notebooks, docs and results, with nothing executed and nothing fetched."""
