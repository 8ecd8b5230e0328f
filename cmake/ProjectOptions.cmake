# Compiler options of every target of this project; found packages are not affected.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(SIGNALBOX_FUZZ "Build the libFuzzer targets, and nothing else; needs clang" OFF)
option(SIGNALBOX_NEAR_STATIC "Link statically what Debian has as static libraries, but the C and C++ libraries" OFF)
set(SIGNALBOX_SANITIZE "" CACHE STRING "Comma-separated -fsanitize list: address,undefined or thread")

find_program(CCACHE ccache)
if(CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(project_options INTERFACE)
target_compile_options(project_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
# With optimization, g++ 12 reports overlapping copies in std::string's operator+ where there are none (GCC bug 105651).
# It also inlines only one of the functions by which Asio allocates and frees coroutine frames, and reports a mismatched pair.
target_compile_options(project_options INTERFACE $<$<CONFIG:Release>:-Wno-restrict -Wno-mismatched-new-delete>)
# Line tables suffice for a sanitizer's report. A debugger needs -g to show variables.
set(SIGNALBOX_DEBUG_INFO -g1 CACHE STRING "The option of the compiler for debug information")
target_compile_options(project_options INTERFACE $<$<CONFIG:Debug>:${SIGNALBOX_DEBUG_INFO}>)

if(SIGNALBOX_NEAR_STATIC)
    # Memory: unused functions and libraries are dropped, and relocations are short. Paths of the build
    # machine are left out, so that builds can be reproduced.
    target_compile_options(project_options INTERFACE
        -ffunction-sections -fdata-sections -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
    target_link_options(project_options INTERFACE -Wl,--as-needed -Wl,--gc-sections)
    # Debian 12's linker has short relocations of x86 alone.
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
        target_link_options(project_options INTERFACE -Wl,-z,pack-relative-relocs)
    endif()
endif()

if(SIGNALBOX_FUZZ)
    target_compile_options(project_options INTERFACE -fsanitize=fuzzer-no-link
        -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/fuzz/ignored.txt)
endif()

if(SIGNALBOX_SANITIZE)
    target_compile_options(project_options INTERFACE
        -fsanitize=${SIGNALBOX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(project_options INTERFACE -fsanitize=${SIGNALBOX_SANITIZE})
    if(SIGNALBOX_SANITIZE MATCHES thread)
        # TSan does not model Boost's fences; g++ warns about each of them.
        target_compile_options(project_options INTERFACE -Wno-tsan)
    endif()
endif()
