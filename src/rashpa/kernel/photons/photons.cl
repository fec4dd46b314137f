// SPDX-License-Identifier: Apache-2.0
// Photon images of any integer type. PIXEL: their type; WIDE: int or uint, which holds every value of it; LEAST and
// MOST: the values that are asked for.
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define PIXEL8 JOIN(PIXEL, 8)
#define WIDE8 JOIN(WIDE, 8)

// −1 for every one of eight pixels that is asked for, else 0.
int8 kept8(PIXEL8 pixels) {
  const WIDE8 wide = JOIN(convert_, WIDE8)(pixels);
  return (wide >= (WIDE8)((WIDE)LEAST)) & (wide <= (WIDE8)((WIDE)MOST));
}
bool kept(PIXEL pixel) { return (WIDE)pixel >= LEAST && (WIDE)pixel <= MOST; }

int sum_of_eight(int8 v) {
  const int4 four = v.lo + v.hi;
  return four.x + four.y + four.z + four.w;
}
