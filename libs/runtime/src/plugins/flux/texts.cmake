# The scripts of Flux's Pods: kept as files that can be read and run, and compiled in.
foreach(file init.sh entrypoint.sh broker.toml)
    string(REPLACE "." "_" name ${file})
    file(READ ${CMAKE_CURRENT_LIST_DIR}/${file} flux_${name})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${file})
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/texts.cpp.in flux_texts.cpp @ONLY)
list(APPEND generated ${CMAKE_CURRENT_BINARY_DIR}/flux_texts.cpp)
