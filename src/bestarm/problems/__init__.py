"""Problems: frozen records that know their optimum."""
