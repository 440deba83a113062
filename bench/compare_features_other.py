# SPDX-License-Identifier: Apache-2.0
"""What compare_features.py runs in a Python that has lightfm or cmfrec:

    python compare_features_other.py NAME FOLDER FACTORS CHOICES
"""
import json
import sys

import numpy as np
import scipy.sparse as sp


def lightfm(x, f, factors, epochs, item_alpha):
    from lightfm import LightFM

    items = sp.hstack([sp.identity(f.shape[0]), f]).tocsr().astype(np.float32)  # an item, and its tags
    model = LightFM(no_components=factors, loss="warp", item_alpha=item_alpha, random_state=42)
    model.fit(x.tocoo(), item_features=items, epochs=epochs, num_threads=2)
    bias, table = model.get_item_representations(items)
    cold = np.asarray(x.sum(0)).ravel() == 0  # of these the item's own part is what it began with
    tags = sp.hstack([sp.csr_matrix(f.shape[:1] * 2), f]).tocsr().astype(np.float32)
    bias_of_tags, table_of_tags = model.get_item_representations(tags)
    table[cold], bias[cold] = table_of_tags[cold], bias_of_tags[cold]
    return model.get_user_representations()[1], table, bias


def cmfrec(x, f, factors, w_item, lambda_):
    from cmfrec import CMF_implicit

    warm = np.flatnonzero(np.asarray(x.sum(0)).ravel())
    model = CMF_implicit(k=factors, w_item=w_item, lambda_=lambda_, niter=10, nthreads=2, verbose=False,
                         NA_as_zero_item=True)  # an item has not the tags that are not told
    model.fit(x[:, warm].tocoo(), I=f[warm].tocoo())
    table = np.zeros((x.shape[1], factors))
    table[warm] = model.B_
    cold = np.setdiff1d(np.arange(x.shape[1]), warm)
    table[cold] = model.item_factors_cold_multiple(I=f[cold].tocoo()) \
        if hasattr(model, "item_factors_cold_multiple") else \
        np.stack([model.item_factors_cold(I=np.asarray(f[row].todense()).ravel()) for row in cold])
    return model.A_, table, np.zeros(x.shape[1])


def main(name, folder, factors, choices):
    x, f = sp.load_npz(f"{folder}/x.npz"), sp.load_npz(f"{folder}/f.npz")
    for n, choice in enumerate(json.loads(choices)):
        users, items, bias = globals()[name](x, f, int(factors), **choice)
        np.savez(f"{folder}/{n}.npz", users=users, items=items, bias=bias)


if __name__ == "__main__":
    main(*sys.argv[1:])
