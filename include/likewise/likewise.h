// SPDX-License-Identifier: Apache-2.0
/// All of likewise in one include. Reading order: interactions, als, training, model,
/// recommender, evaluation.
#pragma once

#include "likewise/add_interactions.h"
#include "likewise/als.h"
#include "likewise/autotune.h"
#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/evaluation.h"
#include "likewise/factor_search.h"
#include "likewise/interactions.h"
#include "likewise/iteration.h"
#include "likewise/make_interactions.h"
#include "likewise/memory_plan.h"
#include "likewise/model.h"
#include "likewise/neighbourhood.h"
#include "likewise/parameters.h"
#include "likewise/popularity.h"
#include "likewise/read.h"
#include "likewise/recommender.h"
#include "likewise/split.h"
#include "likewise/synthetic.h"
#include "likewise/titles.h"
#include "likewise/top_k.h"
#include "likewise/training.h"
#include "likewise/version.h"
#include "likewise/write.h"
