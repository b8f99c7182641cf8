# Untried; checked by reading Spack 1's published recipes.  Copy this folder to
# packages/retort of a repository of yours, and the archive that `make dist`
# makes to the folder where `spack install --no-checksum retort` is called.
# Add homepage, url and maintainers, once there are any.
import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Retort(MakefilePackage):
    """Small programs that distil large language models with Unix pipes."""

    url = f"file://{os.getcwd()}/retort-0.1.0.tar.gz"
    manual_download = True

    license("Apache-2.0")

    version("0.1.0")

    variant("mpi", default=True, description="Train over ranks")
    variant("serve", default=True, description="Build the HTTP server")

    depends_on("c", type="build")
    depends_on("gmake@4.3:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zstd")
    depends_on("lz4")
    depends_on("libarchive")
    depends_on("jansson")
    depends_on("xxhash")
    depends_on("icu4c")
    depends_on("hwloc")
    depends_on("nettle")
    depends_on("mpi", when="+mpi")
    depends_on("libmicrohttpd", when="+serve")
    depends_on("libedit")
    # prune opens it at run time
    depends_on("openblas", type="run")

    # the Makefile asks pkg-config for ompi-c
    requires("^openmpi", when="+mpi")

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        env.set("RETORT_SETUP", "no")

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        env.prepend_path("LD_LIBRARY_PATH", self.spec["openblas"].prefix.lib)

    @property
    def install_targets(self):
        return ["install", f"PREFIX={self.prefix}"]
