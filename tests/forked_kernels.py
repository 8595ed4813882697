"""Kernels of tested notebooks, forked from one process that has imported what they import: ``-p tests.forked_kernels``.

Each still is a process of its own. Elsewhere than on Linux kernels start as usual.
"""

import multiprocessing
import os
import sys

from jupyter_client.provisioning import LocalProvisioner


class Kernel:  # what a provisioner asks of a process, for one of `multiprocessing`
    stdin = stdout = stderr = None

    def __init__(self, process):
        self.process, self.pid = process, process.pid

    def poll(self):
        return self.process.exitcode

    def wait(self):
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)


def run_kernel(arguments, folder, environment):
    """Be a kernel in a group of processes of its own, which ends when nobody waits for it any more."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    os.chdir(folder)
    os.environ.update(environment, JPY_PARENT_PID=str(os.getppid()))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    IPKernelApp.launch_instance(argv=arguments)


async def launch_kernel(self, cmd, *, cwd, env, **_):
    process = FORKED.Process(target=run_kernel, args=(cmd[cmd.index("ipykernel_launcher") + 1 :], cwd, env))
    process.start()
    self.process, self.pid, self.pgid, self.cwd = Kernel(process), process.pid, process.pid, cwd
    return self.connection_info


if sys.platform == "linux":
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # a kernel's, before anything is imported
    FORKED = multiprocessing.get_context("forkserver")
    FORKED.set_forkserver_preload(["tests.notebook_imports"])
    LocalProvisioner.launch_kernel = launch_kernel
