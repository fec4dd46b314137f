# SPDX-License-Identifier: Apache-2.0
# cmake -D FOLDER=… -P collect.cmake: names of the files that Verilator has made are known only now; two that include
# them, what runs every cycle and what runs once.
file(GLOB slow RELATIVE ${FOLDER} ${FOLDER}/V*__Slow.cpp ${FOLDER}/V*__Syms.cpp ${FOLDER}/V*__ConstPool*.cpp)
file(GLOB all RELATIVE ${FOLDER} ${FOLDER}/V*.cpp)
list(REMOVE_ITEM all ${slow})
foreach(kind slow all)
  list(TRANSFORM ${kind} REPLACE "(.+)" "#include \"\\1\"\n")
endforeach()
string(CONCAT text_of_slow ${slow})
string(CONCAT text_of_all ${all})
file(WRITE ${FOLDER}/slow.cpp "${text_of_slow}")
file(WRITE ${FOLDER}/fast.cpp "${text_of_all}")
