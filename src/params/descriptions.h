// SPDX-License-Identifier: Apache-2.0
/// What every alternative of TrainingParams consists of.
#pragma once

#include "likewise/parameters.h"
#include "params/als.h"
#include "params/bias.h"
#include "params/bpr.h"
#include "params/neighbours.h"
#include "params/popular.h"
#include "params/sgd.h"
