// A slice that stops the thread where an index is beyond its end, or, for comparison, does not look.
#include <cassert>

#ifdef RAW
#define REQUIRE(condition) ((void)0)
#else
#define REQUIRE(condition)   \
    do {                     \
        if (!(condition))    \
            __trap();        \
    } while (0)
#endif

template <class Item, class Index> struct Slice {
    Item *data;
    Index length;
    __device__ Item &operator[](Index i) const
    {
        REQUIRE(i < length);
        return data[i];
    }
};

using Floats = Slice<float, unsigned>;
using FloatsWide = Slice<float, unsigned long long>;
using Ints = Slice<int, unsigned>;

// One that fails by assert().
template <class Item, class Index> struct AssertedSlice {
    Item *data;
    Index length;
    __device__ Item &operator[](Index i) const
    {
        assert(i < length);
        return data[i];
    }
};
