# SPDX-License-Identifier: Apache-2.0
# find_package(Mote) with -DMote_DIR=$(mote cmake) gives mote_add_model().
include(${CMAKE_CURRENT_LIST_DIR}/mote.cmake)
set(Mote_FOUND TRUE)
