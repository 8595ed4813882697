"""The papers' algorithms and their rivals, each as one page of NumPy: the loop over rounds, symbols as in the paper.

A page is at most 120 lines, reads from top to bottom, and imports NumPy, SciPy and what `shared` (argmax, fits,
designs), `cells` (a divided box), `gaussian` (posteriors) or `network` (a network and Adam) hold. Nothing is compiled,
batched or checked: to use an algorithm take its constructor in `bestarm`, to understand it read the page. Both make the
same decisions from the same draws, which the tests compare pull by pull. A page takes the arms and a function that
gives rewards, such as ``lucb(np.eye(5), pull, 2, sigma=1.0)``, and returns its answer; settings have the names of
`bestarm`. Equal values go to the first arm; ``argmax``, ``order``, ``uniform`` and ``draws`` replace
a page's draws.

========================= ================== ==========================================================
constructor of `bestarm`  page               algorithm
========================= ================== ==========================================================
`m_lingape`               `gifa`             Réda et al. 2021, Algorithm 1, Table 1
`lingifa`                 `gifa`             Réda et al. 2021, Algorithm 1, Table 1
`lucb`                    `gifa`             Kalyanakrishnan et al. 2012; Réda et al. 2021, Table 1
`ugape`                   `gifa`             Gabillon et al. 2012; Réda et al. 2021, Table 1
`lin_game`                `lin_game`         Degenne et al. 2020, Algorithm 1
`gpoo`                    `gpoo`             Zhang et al. 2022, Algorithm 1
`stooo`                   `stooo`            Munos 2014
`ave_stooo`               `stooo`            Zhang et al. 2022, Algorithm 2
`gp_tree`                 `gp_tree`          Shekhar, Javidi 2018
`gse_lin`                 `gse`              Azizi et al. 2022, Algorithm 1, Equation 1
`gse_log`                 `gse`              Azizi et al. 2022, Algorithm 1, Equation 4
`bayes_gap`               `bayes_gap`        Hoffman et al. 2014, Algorithm 1
`lin_ucb`                 `lin_ucb`          Li et al. 2010, Algorithm 1
`lingape`                 `lingape`          Xu et al. 2018, Algorithm 1
`lingape_greedy`          `lingape`          Xu et al. 2018, Algorithm 1, greedy selection
`od_linbai`               `od_linbai`        Yang, Tan 2022, Algorithm 1
`peace`                   `peace`            Katz-Samuels et al. 2020, Theorem 7
`ucb_glm`                 `ucb_glm`          Li et al. 2017, Algorithm 1
`gp_bucb`                 `gp_bucb`          Desautels et al. 2014; Kathuria et al. 2016, Algorithm 1
`b_est`                   `gp_bucb`          Kathuria et al. 2016, Algorithm 1
`ucb_dpp_max`             `ucb_dpp_max`      Kathuria et al. 2016, Algorithm 2
`est_dpp_max`             `ucb_dpp_max`      Kathuria et al. 2016, Algorithm 2
`ucb_dpp_sample`          `ucb_dpp_sample`   Kathuria et al. 2016, Algorithm 2
`est_dpp_sample`          `ucb_dpp_sample`   Kathuria et al. 2016, Algorithm 2
`lp_ucb`                  `lp_ucb`           González et al. 2016, Algorithm 1
`mean_opt`                `mean_opt`         Pacchiano et al. 2023, Algorithm 1, Equation 3
`hinge_p_norm`            `mean_opt`         Pacchiano et al. 2023, Algorithm 1, Section 4.1.1
`max_opt`                 `mean_opt`         Pacchiano et al. 2023, Algorithm 1, Section 4.1.1
`linear_oae`              `linear_oae`       Pacchiano et al. 2023, Algorithm 1, Equation 1
`greedy`                  `mean_opt`         Pacchiano et al. 2023, Algorithm 1 without optimism
`ensemble`                `ensemble`         Pacchiano et al. 2023, Algorithm 1, Section 4.1.2
`ensemble_noise_y`        `ensemble`         Pacchiano et al. 2023, Algorithm 1, Section 4.1.2
`det_d`                   `det_d`            Pacchiano et al. 2023, Algorithm 2
`seq_b`                   `seq_b`            Pacchiano et al. 2023, Algorithm 3
`ensemble_seq_b`          `seq_b`            Pacchiano et al. 2023, Algorithm 3
`ensemble_seq_b_noise_y`  `seq_b`            Pacchiano et al. 2023, Algorithm 3
========================= ================== ==========================================================
"""
