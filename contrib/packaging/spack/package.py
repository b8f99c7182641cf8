# Untried. Spack: copy this folder to packages/retort of a repository of yours.
from spack.package import *


class Retort(MakefilePackage):
    """Small programs that distil large language models with Unix pipes."""

    version("0.1.0")

    variant("mpi", default=True, description="training over ranks")
    variant("serve", default=True, description="the HTTP server")

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
    depends_on("openmpi", when="+mpi")
    depends_on("libmicrohttpd", when="+serve")
    depends_on("libedit")
    # prune opens it at run time
    depends_on("openblas", type="run")

    def setup_build_environment(self, env):
        env.set("RETORT_SETUP", "no")

    def install(self, spec, prefix):
        make("install", "PREFIX=" + prefix)
