package io.kafkachaos.client;

import java.util.HashMap;
import java.util.Map;

/** How late records were handed over although their sender was not held up: microseconds, with how often each occurred. */
final class Lateness {
    private Map<Long, Integer> counts = new HashMap<>();

    synchronized void note(long micros) {
        counts.merge(micros, 1, Integer::sum);
    }

    synchronized void tell(Json json) {
        if (counts.isEmpty()) {
            return;
        }
        json.name("late").open();
        counts.forEach((micros, count) -> json.open().number(micros).number(count).close());
        json.close();
        counts = new HashMap<>();
    }
}
