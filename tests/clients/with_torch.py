# PyTorch builds an extension for GPUs that are not there.
from torch.utils import cpp_extension

cpp_extension.load(name="extension", sources=["extension.cu"], build_directory=".", is_python_module=False, verbose=True)
