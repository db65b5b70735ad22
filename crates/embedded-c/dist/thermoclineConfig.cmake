# find_package(thermocline): the target thermocline::thermocline. THERMOCLINE_TARGET is a folder of lib; this computer's where
# nothing is compiled for another one.
get_filename_component(_thermocline ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
if(NOT THERMOCLINE_TARGET AND NOT CMAKE_CROSSCOMPILING)
  set(THERMOCLINE_TARGET @HOST@)
endif()
set(_thermocline_library ${_thermocline}/lib/${THERMOCLINE_TARGET}/libthermocline.a)
if(NOT THERMOCLINE_TARGET OR NOT EXISTS ${_thermocline_library})
  file(GLOB _thermocline_targets RELATIVE ${_thermocline}/lib ${_thermocline}/lib/*-*)
  set(thermocline_FOUND FALSE)
  set(thermocline_NOT_FOUND_MESSAGE "THERMOCLINE_TARGET is one of: ${_thermocline_targets}")
  return()
endif()
if(NOT TARGET thermocline::thermocline)
  add_library(thermocline::thermocline STATIC IMPORTED)
  set_target_properties(thermocline::thermocline PROPERTIES
    IMPORTED_LOCATION ${_thermocline_library}
    INTERFACE_INCLUDE_DIRECTORIES ${_thermocline}/include)
  if(THERMOCLINE_TARGET STREQUAL "@HOST@")
    set_target_properties(thermocline::thermocline PROPERTIES INTERFACE_LINK_LIBRARIES "pthread;dl;m")
  endif()
endif()
