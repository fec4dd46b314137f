#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One flow of a JUNGFRAU's datagrams between two network namespaces (veth, MTU 9000), three times: sls_namespaces.sh PROGRAM GBPS SECONDS [PORTS] [GRO]
set -e
program=$1 gbps=$2 seconds=$3 ports=${4:-1} gro=${5:-1}
there=rashpa_sls_$$
ip netns add $there
trap 'ip netns del $there' EXIT
ip link add sls0_$$ type veth peer name sls1_$$
ip link set sls1_$$ netns $there
ip addr add 10.91.0.1/24 dev sls0_$$
ip link set sls0_$$ mtu 9000 up
ip -n $there addr add 10.91.0.2/24 dev sls1_$$
ip -n $there link set sls1_$$ mtu 9000 up
for _ in 1 2 3; do
  "$program" receive address=10.91.0.1 port=50001 ports=$ports threads=$ports gro=$gro seconds=$(echo "$seconds + 1.5" | bc) over=$seconds &
  sleep 0.5
  ip netns exec $there "$program" send address=10.91.0.1 port=50001 ports=$ports seconds=$seconds gbps=$gbps
  wait
done
