# SPDX-License-Identifier: Apache-2.0
"""The package for Spack 1: lies in packages/py_rashpa of a repository that `spack repo add` names."""

from spack.package import depends_on, license, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyRashpa(PythonPackage):
    """RDMA-based data acquisition for 2D X-ray detectors."""

    homepage = "file:///path/to/rashpa"  # where the repository lies that you build from: it has no public address yet
    git = "file:///path/to/rashpa"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.3.0", tag="v0.3.0")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.11:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core", type="build")
    depends_on("py-nanobind", type="build")

    depends_on("fmt")
    depends_on("hdf5")
    depends_on("highway")
    depends_on("hwloc")
    depends_on("isa-l")
    depends_on("liburing")
    depends_on("lz4")
    depends_on("opencl-c-headers")
    depends_on("zstd")

    depends_on("py-bokeh", type="run")
    depends_on("py-h5py", type="run")
    depends_on("py-hdf5plugin", type="run")
    depends_on("py-httpx", type="run")
    depends_on("py-jinja2", type="run")
    depends_on("py-lxml", type="run")
    depends_on("py-matplotlib", type="run")
    depends_on("py-numpy", type="run")
    depends_on("py-pillow", type="run")
    depends_on("py-prometheus-client", type="run")
    depends_on("py-pydantic", type="run")
    depends_on("py-rich", type="run")
    depends_on("py-starlette", type="run")
    depends_on("py-typer@0.19:", type="run")
    depends_on("py-uvicorn", type="run")
    depends_on("py-zstandard", type="run")
