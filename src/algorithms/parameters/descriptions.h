// SPDX-License-Identifier: Apache-2.0
/// What every alternative of TrainingParams consists of.
#pragma once

#include "algorithms/als/params.h"
#include "algorithms/bias/params.h"
#include "algorithms/bpr/params.h"
#include "algorithms/ease/params.h"
#include "algorithms/knn/params.h"
#include "algorithms/popular/params.h"
#include "algorithms/sgd/params.h"
#include "algorithms/spectral/params.h"
#include "likewise/parameters.h"
