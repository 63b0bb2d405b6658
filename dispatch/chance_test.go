package dispatch_test

import (
	"math/rand/v2"
	"sync"

	"weir/dispatch"
)

// lockedChance makes a seeded source usable from every goroutine.
func lockedChance(random *rand.Rand) dispatch.Chance {
	var mu sync.Mutex
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return random.Float64()
	}
}
