#!/bin/sh
# sccache-dist: a scheduler here, a build server on a second host, which is a name space of networks.
# usage: dist.sh possible | dist.sh SCCACHE SHADOW PTXAS SOURCE.cu OUTPUT.o   in an empty folder, as root
# The second host knows no ptxopt but that of the archive, which is what is tested.
set -eu
name=ptxopt$$ link=px$$
here=198.51.100.1 there=198.51.100.2 # of documentation: nobody's
finish()
{
    for pid in ${pids:-}; do kill "$pid" 2>/dev/null || true; done
    [ -z "${SCCACHE_SERVER_UDS:-}" ] || { "$sccache" --stop-server || true; rm -rf "${SCCACHE_SERVER_UDS%/s}"; } >/dev/null 2>&1
    ip link del "${link}a" 2>/dev/null || true
    ip netns del "$name" 2>/dev/null || true
}
trap finish EXIT
ip netns add "$name"
ip link add "${link}a" type veth peer name "${link}b"
if [ "$1" = possible ]; then exit; fi
ip link set "${link}b" netns "$name"
ip addr add $here/30 dev "${link}a"
ip link set "${link}a" up
ip netns exec "$name" ip addr add $there/30 dev "${link}b"
ip netns exec "$name" ip link set "${link}b" up
ip netns exec "$name" ip link set lo up

sccache=$1 shadow=$2 ptxas=$3 source=$4 output=$5
export SCCACHE_DIR="$PWD/cache" SCCACHE_CONF="$PWD/client.conf" SCCACHE_IDLE_TIMEOUT=900 HOME="$PWD" XDG_CACHE_HOME="$PWD/xdg"
SCCACHE_SERVER_UDS=$(mktemp -d)/s
export SCCACHE_SERVER_UDS
# The archive: ptxas with what it needs, and ptxopt in its place. man/ptxopt-ptxas.1 says the same.
"$sccache" --package-toolchain "$ptxas" ptxas.tgz
mkdir tools
tar -xzf ptxas.tgz -C tools
at=$(cd tools && find . -type f -name ptxas)
mv "tools/$at" "tools/$at.real"
cp -L "$shadow/bin/ptxas" "tools/$at"
tar -czf tools.tgz -C tools .
cat >scheduler.conf <<END
public_addr = "$here:10600"
[client_auth]
type = "token"
token = "client"
[server_auth]
type = "token"
token = "server"
END
cat >server.conf <<END
cache_dir = "$PWD/server"
public_addr = "$there:10501"
scheduler_url = "http://$here:10600"
[builder]
type = "overlay"
build_dir = "$PWD/build"
bwrap_path = "$(command -v bwrap)"
[scheduler_auth]
type = "token"
token = "server"
END
cat >client.conf <<END
[dist]
scheduler_url = "http://$here:10600"
[dist.auth]
type = "token"
token = "client"
[[dist.toolchains]]
type = "path_override"
compiler_executable = "$shadow/bin/ptxas"
archive = "$PWD/tools.tgz"
archive_compiler_executable = "/${at#./}"
END
export SCCACHE_NO_DAEMON=1 SCCACHE_LOG=debug
"$sccache-dist" scheduler --config scheduler.conf >scheduler.log 2>&1 &
pids=$!
sleep 1
ip netns exec "$name" "$sccache-dist" server --config server.conf >server.log 2>&1 &
pids="$pids $!"
tries=0
until grep -q 'Server connected to scheduler' server.log; do
    tries=$((tries + 1))
    [ $tries -lt 30 ] || { cat server.log; exit 1; }
    sleep 1
done
unset SCCACHE_NO_DAEMON SCCACHE_LOG
"$sccache" "$shadow/bin/nvcc" -arch=sm_80 -c "$source" -o "$output"
"$sccache" --show-stats >stats
cat stats
