/* SPDX-License-Identifier: Apache-2.0
 * A detector in less than 150 lines: sends images to `rashpa receiver` by docs/reference/protocol.md, with POSIX alone.
 *
 *   cc -O2 -o sender sender.c && ./sender [PORT of the receiver's HTTP] [IMAGES]
 *
 * It configures the receiver of this machine, sends at 100 images a second, and prints the receiver's books. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kWidth = 256, kHeight = 128, kPmtu = 1024, kLine = 2 * kWidth, kQpn = 77, kRun = 1 };
static const char kOwner[] = "00000000000000000000000000c0ffee"; /* a secret of yours, 32 hexadecimal digits */
static uint32_t g_key, g_psn, g_peer_qpn, g_peer_key;
static int g_socket, g_http_port = 4781;
static struct sockaddr_in g_self, g_peer;
static uint64_t g_granted;

/* CRC-32 (0xEDB88320) or CRC32C (0x82F63B78), one bit after the other. */
static uint32_t crc_of(uint32_t polynomial, const uint8_t* data, size_t bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (size_t at = 0; at < bytes; ++at) {
    crc ^= data[at];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
  }
  return ~crc;
}
static void little(uint8_t* to, uint64_t value, int bytes) {
  for (int at = 0; at < bytes; ++at) to[at] = (uint8_t)(value >> 8 * at);
}
static void big(uint8_t* to, uint64_t value, int bytes) {
  for (int at = 0; at < bytes; ++at) to[bytes - 1 - at] = (uint8_t)(value >> 8 * at);
}
/* Sends a telegram and returns the answer, which the next call overwrites. Ends the program where the receiver refuses. */
static const char* order(const char* name, const char* attributes, const char* content) {
  static char text[16384], answer[65536];
  char body[8192];
  const int length = snprintf(body, sizeof body, "<%s xmlns=\"urn:rashpa:telegram:2\" version=\"2\" %s>%s</%s>", name, attributes, content, name);
  const int bytes = snprintf(text, sizeof text, "POST /telegram HTTP/1.0\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n%s", g_http_port, length, body);
  const int http = socket(AF_INET, SOCK_STREAM, 0);
  const struct sockaddr_in node = {.sin_family = AF_INET, .sin_port = htons((uint16_t)g_http_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(http, (const struct sockaddr*)&node, sizeof node) != 0) { perror("connect"); exit(1); }
  if (write(http, text, (size_t)bytes) != bytes) { perror("write"); exit(1); }
  size_t got = 0;
  for (ssize_t n; (n = read(http, answer + got, sizeof answer - 1 - got)) > 0; got += (size_t)n) {}
  answer[got] = 0;
  close(http);
  if (strncmp(answer + 8, " 200", 4) != 0) { fprintf(stderr, "%s: %s\n", name, answer); exit(1); }
  return answer;
}
/* The number in `name="…"`, in the first element `element` of a telegram. */
static uint64_t number(const char* text, const char* element, const char* name) {
  char key[64];
  snprintf(key, sizeof key, " %s=\"", name);
  const char* at = strstr(text, element);
  if (at == NULL || (at = strstr(at, key)) == NULL) { fprintf(stderr, "no %s in %s\n", name, element); exit(1); }
  return strtoull(at + strlen(key), NULL, 10);
}
/* Sends one RDMA WRITE ONLY of at most kPmtu bytes, with an immediate or without (-1). */
static void put(uint64_t address, const uint8_t* data, uint32_t bytes, int64_t immediate) {
  uint8_t head[8 + 20 + 8 + 2048]; /* eight bytes of ones, IP, UDP: only the checksum sees them */
  uint8_t* packet = head + 36;
  const uint32_t pad = -bytes & 3;
  packet[0] = immediate < 0 ? 0x2A : 0x2B;
  packet[1] = (uint8_t)(0x40 | pad << 4);
  big(packet + 2, 0xFFFF, 2), big(packet + 4, g_peer_qpn, 4), big(packet + 8, g_psn, 4);
  big(packet + 12, address, 8), big(packet + 20, g_peer_key, 4), big(packet + 24, bytes, 4);
  uint32_t length = immediate < 0 ? 28 : 32;
  if (immediate >= 0) big(packet + 28, (uint64_t)immediate, 4);
  memcpy(packet + length, data, bytes);
  memset(packet + length + bytes, 0, pad);
  length += bytes + pad;
  memset(head, 0xFF, 36);
  head[8] = 0x45, head[17] = 17; /* IPv4 of 20 bytes; UDP */
  big(head + 10, 28 + length + 4, 2), big(head + 12, 0x00004000, 4); /* identification 0, "don't fragment" */
  memcpy(head + 20, &g_self.sin_addr, 4), memcpy(head + 24, &g_peer.sin_addr, 4);
  memcpy(head + 28, &g_self.sin_port, 2), memcpy(head + 30, &g_peer.sin_port, 2);
  big(head + 32, 8 + length + 4, 2);
  packet[4] = 0xFF; /* in the checksum alone, as all that routers may change */
  little(packet + length, crc_of(0xEDB88320, head, 36 + length), 4);
  packet[4] = 0;
  sendto(g_socket, packet, length + 4, 0, (struct sockaddr*)&g_peer, sizeof g_peer);
  g_psn = (g_psn + 1) & 0xFFFFFF;
}
static void wait_for_credit(uint64_t image) {
  for (uint8_t packet[2048]; g_granted <= image;) {
    if (recv(g_socket, packet, sizeof packet, 0) < 28 + 16 || packet[0] != 0x2A) continue;
    uint64_t images = 0;
    uint8_t key[4];
    big(key, g_key, 4);
    for (int at = 7; at >= 0; --at) images = images << 8 | packet[28 + at];
    if (memcmp(packet + 20, key, 4) == 0 && images > g_granted) g_granted = images;
  }
}
int main(int argc, char** argv) {
  if (argc > 1) g_http_port = atoi(argv[1]);
  const uint64_t images = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
  char owner[64], attributes[128], text[4096];
  if (getrandom(&g_key, sizeof g_key, 0) != sizeof g_key) return 1;
  snprintf(owner, sizeof owner, "owner=\"%s\"", kOwner);
  snprintf(attributes, sizeof attributes, "%s run=\"%d\"", owner, kRun);
  snprintf(text, sizeof text,
           "<Destination><Buffer name=\"full\" width=\"%d\" height=\"%d\" images=\"%llu\">"
           "<DestinationDtp id=\"0\" width=\"%d\" height=\"%d\"/><Sink><null/></Sink></Buffer></Destination>",
           kWidth, kHeight, (unsigned long long)images, kWidth, kHeight);
  const char* answer = order("Configure", attributes, text);
  g_peer = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)number(answer, "<Endpoint", "port")), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  g_peer_qpn = (uint32_t)number(answer, "<Endpoint", "qpn"), g_peer_key = (uint32_t)number(answer, "<Endpoint", "rkey");
  g_psn = g_key & 0xFFFFFF;
  const uint64_t pixels_at = number(answer, "<Placement", "pixels_offset"), slot_bytes = number(answer, "<Placement", "slot_bytes");
  const uint64_t first = number(answer, "<Placement", "first_line_offset"), pitch = number(answer, "<Placement", "pitch");
  const uint64_t records = number(answer, "<Placement", "records_offset"), slots = number(answer, "<Placement", "slots");
  g_socket = socket(AF_INET, SOCK_DGRAM, 0); /* unconnected and never cut, so that the identification is 0 */
  setsockopt(g_socket, IPPROTO_IP, IP_MTU_DISCOVER, &(int){IP_PMTUDISC_DO}, sizeof(int));
  g_self = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  bind(g_socket, (struct sockaddr*)&g_self, sizeof g_self);
  getsockname(g_socket, (struct sockaddr*)&g_self, &(socklen_t){sizeof g_self});
  snprintf(text, sizeof text, "<Endpoint address=\"127.0.0.1\" port=\"%d\" qpn=\"%d\" rkey=\"%u\" psn=\"%u\"/>", ntohs(g_self.sin_port), kQpn, g_key, g_psn);
  order("Arm", owner, text);
  order("Start", owner, "");
  static uint8_t pixels[kHeight * kLine];
  for (uint64_t k = 0; k < images; ++k) {
    for (uint32_t at = 0; at < kWidth * kHeight; ++at) little(pixels + 2 * at, (k + at) & 0x3FFF, 2);
    wait_for_credit(k);
    const uint64_t slot = k % slots, start = pixels_at + slot * slot_bytes + first;
    for (uint64_t line = 0; line < kHeight; ++line) put(start + line * pitch, pixels + line * kLine, kLine, -1);
    uint8_t record[128] = {'R', 'S', 'P', 'A', 1, 0, 128};
    struct timespec now;
    clock_gettime(CLOCK_TAI, &now);
    little(record + 24, (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec, 8);
    little(record + 16, k, 8), little(record + 32, k, 8), little(record + 40, slot, 4); /* frame, image, slot */
    little(record + 44, kHeight, 4), little(record + 48, sizeof pixels, 8), little(record + 60, kRun, 4);
    little(record + 56, crc_of(0x82F63B78, pixels, sizeof pixels), 4);
    little(record + 124, crc_of(0x82F63B78, record, 124), 4);
    put(records + slot * 128, record, 128, (int64_t)(k & 0xFFFFFF));
    usleep(10000);
  }
  snprintf(text, sizeof text, "<DtpEnd dtp=\"0\" images=\"%llu\"/>", (unsigned long long)images);
  order("Stop", owner, text);
  while (strstr(answer = order("GetStatus", "", ""), "state=\"finished\"") == NULL) usleep(50000);
  printf("complete %llu of %llu\n", (unsigned long long)number(answer, "<Books", "complete"), (unsigned long long)number(answer, "<Books", "expected"));
  order("Reset", owner, "");
}
