# XLA compiles for a GPU that is not there.
import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

a100 = """gpu_device_info {
  cuda_compute_capability { major: 8 minor: 0 }
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048 core_count: 108 fpus_per_core: 64
  shared_memory_per_block: 49152 shared_memory_per_core: 167936 shared_memory_per_block_optin: 166912
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 2039000000000 l2_cache_size: 41943040 clock_rate_ghz: 1.41 device_memory_size: 79050250240
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 1 patch: 0 }
runtime_version { major: 13 minor: 0 patch: 0 }
device_description_str: "NVIDIA A100-SXM4-80GB"
"""
device = topologies.get_topology_desc(topology_name="", platform="cuda", target_config=a100, topology="1x1x1").devices[0]
x = jax.ShapeDtypeStruct((4096,), jnp.float32, sharding=SingleDeviceSharding(device))
assert jax.jit(lambda x: jnp.where(x > 0, jnp.sin(x), jnp.cumsum(jnp.sort(x)))).lower(x).compile().as_text()
