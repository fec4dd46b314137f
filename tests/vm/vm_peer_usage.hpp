// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What rashpa_vm_peer prints with --help: the contract with the scripts of this folder.

namespace rashpa::vm {

inline constexpr const char* kUsage =
    R"(One end of an acquisition, for the virtual machine of tests/vm: no Python, no files but the two of the exchange.

  rashpa_vm_peer --role destination --link verbs --bind 10.0.0.2 --exchange /tmp/t1 --peer roce  &
  rashpa_vm_peer --role source      --link roce  --bind 10.0.0.1 --exchange /tmp/t1 --peer verbs

The two sides share a folder: the destination writes <exchange>.destination, the source reads it and writes
<exchange>.source, each whole (temporary name, then renamed); neither may exist before. The destination writes
<exchange>.armed when it listens, and only then the source sends. When all is sent the source writes <exchange>.done,
and the destination gives up what is still open after its deadline. They may live in different network namespaces.
Each prints one line of JSON on stdout and ends with 0 when the counts are the expected ones, 1 when they are not, 2 on
a wrong argument or an error (text on stderr). With the same arguments both sides play the same frames: a pattern of
`--modules` modules one above the other into one RASHPA buffer, sink `null`.

A source of several destinations (fan-out), or a destination of several sources (fan-in), names one exchange for each:
they share its modules evenly and in that order, and each has its share as --first-module and --modules.

  rashpa_vm_peer --role source --modules 2 --exchange /tmp/a,/tmp/b …
  rashpa_vm_peer --role destination --modules 1 --exchange /tmp/a …
  rashpa_vm_peer --role destination --first-module 1 --modules 1 --exchange /tmp/b …

Both sides (the same values on both, but for --role, --link, --peer, --bind, --device, --port, and those of a share)
  --role source|destination    --link roce|verbs|fpga (fpga: source only)    --peer roce|verbs|fpga   link of the other side
  --bind ADDRESS               local IPv4 or IPv6; verbs: the GID that is used
  --device NAME                verbs: default the device that has the address
  --port N                     roce: own UDP port; default 4791 (an RNIC sends there and nowhere else)
  --pmtu 256|…|4096 (1024)     --packetisation only|first_middle_last (only)
  --transport uc|rc|ud (uc)    ud: both sides roce
  --operation write|read (write)   --paging pinned|on_demand (pinned)   of the verbs link, rc
  --flow credits|paced (credits)   --rate-hz N (0: as fast as flow allows)
  --frames N (100) --first-module N (0) --modules N (2) --width N (256) --height N (32) --slots N (16) --stack N (4)
  --deadline-ms N (2000)       an image that has begun is given up after this long
  --timeout-s N (60)           the whole run
  --exchange PREFIX[,PREFIX …]
Destination
  --poll event|spin (event)    --verify all|sampled|off (all)      of the verbs link
  --expect complete=N,partial=N,missing=N   whole images; those not named are not looked at; default complete=frames
  --expect-fates FILE          instead: compare each image with FILE, written by the source (--fates FILE)
Source
  --card DIR                   fpga: the directory of a card, simulated or not; --bind is the address that its packets come from
  --card-mac MAC --peer-mac MAC   fpga: as in its frames; not needed where a simulated card sends by UDP sockets
  --fault none|wrong-key|short-buffer|bad-icrc (none)
       wrong-key     a key the destination never gave: every write is refused (expect complete=0,partial=0)
       short-buffer  lines aim behind the end of the registered region, events do not (expect complete=0,missing=0)
       bad-icrc      roce, fpga: --fault-rate P (0.01) of all packets get one wrong bit after their ICRC was made
  --seed N (1)                 of the faults
  --fates FILE                 writes one letter per image, c, p or m: what the injector's log says
  --delay-exit-ms N (0)        keeps its queue pairs open so long after the last image

JSON of the destination: role, link, expected, complete, partial, missing, accepted, vetoed, errored, written, balanced,
packets, events, payload_bytes, duplicates, late, overruns, icrc_bad, refused_key, unknown_qp, sequence_drops,
bad_records, crc_mismatches, memory, registration, first_incomplete, elapsed_s, ok.
JSON of the source: role, link, images_sent, messages, packets, payload_bytes, send_errors, naks, retransmitted, connection_errors,
injected_corrupt, registration, elapsed_s, ok.
)";

}  // namespace rashpa::vm
