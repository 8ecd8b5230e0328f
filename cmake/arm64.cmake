# Builds for arm64 on another machine, with Debian's cross compiler. CMAKE_SYSROOT has Debian's packages of arm64: scripts/setup --arm64
# unpacks them, and a preset names the folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triplet aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER ${triplet}-g++-12)
if(NOT EXISTS ${CMAKE_SYSROOT}/packages)
    message(FATAL_ERROR "There are no libraries of arm64 in ${CMAKE_SYSROOT}: source scripts/lib/environment.sh, and run scripts/setup --arm64")
endif()

# The cross compiler has a C++ library, a C library and code of GCC of its own, in packages of this machine that get no advisories, and
# prefers them. All that it reads and links is arm64's own packages instead, as on a machine of arm64.
set(gcc ${CMAKE_SYSROOT}/usr/lib/gcc/${triplet}/12)
set(headers "-nostdinc -nostdinc++")
foreach(folder
        ${CMAKE_SYSROOT}/usr/include/c++/12 ${CMAKE_SYSROOT}/usr/include/${triplet}/c++/12 ${CMAKE_SYSROOT}/usr/include/c++/12/backward
        ${gcc}/include ${CMAKE_SYSROOT}/usr/include/${triplet} ${CMAKE_SYSROOT}/usr/include)
    string(APPEND headers " -isystem ${folder}")
endforeach()
# Texts of headers, such as those of failed assertions, have the paths that they have on a machine of arm64.
set(CMAKE_CXX_FLAGS_INIT "${headers} -ffile-prefix-map=${CMAKE_SYSROOT}=")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-B${gcc} -B${CMAKE_SYSROOT}/usr/lib/${triplet} -B${CMAKE_SYSROOT}/lib/${triplet}")

# Programs that the build runs, and unit tests.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
