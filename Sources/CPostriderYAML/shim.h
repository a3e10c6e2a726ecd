// libyaml imports whole; no shim is needed.
#pragma once
#include <yaml.h>
