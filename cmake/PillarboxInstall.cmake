# SPDX-License-Identifier: Apache-2.0
# What is installed, and how others find it. Filled in where the public library is assembled (src/CMakeLists.txt).
