"""The contract of the draws in Python's integers: slow, and written apart from the golden model."""

from testbenches.sim.golden.test_threefry import in_integers


def reference_key(seed, batch, hop):
    """Return the key of a hop."""
    return in_integers((seed % 2**32, seed // 2**32), (batch, hop))


def reference_draws(node, degree, count, key, replace):
    """Draw the samples of one target.

    Returns
    -------
    list of tuple
        Place in the list, words rejected, and whether the last word needed a division, for each sample.
    """
    if count == degree:
        return [(place, 0, False) for place in range(degree)]
    out, chosen = [], set()
    for i in range(count):
        last = degree - count + i
        size = degree if replace else last + 1
        attempt = 0
        while True:
            counter = (node % 2**32, node // 2**32 % 2**16 + 2**16 * i + 2**24 * (attempt % 256))
            high, low = divmod(in_integers(key, counter)[0] * size, 2**32)
            if low >= size or low >= 2**32 % size:
                break
            attempt += 1
        place = last if high in chosen and not replace else high
        chosen.add(place)
        out.append((place, attempt, low < size))
    return out
