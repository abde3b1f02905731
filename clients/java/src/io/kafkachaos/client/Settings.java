package io.kafkachaos.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** What a group is: read from the first lines of standard input, in the form of a Java properties file, up to an empty line. */
final class Settings {
    /** How records are paced. */
    enum Load { OPEN, MAX, CLOSED }

    private static final String CONFIG = "config.";

    final String group;
    final long seed;
    final int producers;
    /** Producers that share one client. */
    final int share;
    final List<String> topics = new ArrayList<>();
    final Load load;
    final boolean isPoisson;
    final double ratePerSecond;
    final long waitMicros;
    final long everyMicros;
    /** The producers start one after the other, evenly over this time. */
    final long rampMicros;
    final int valueBytes;
    final int keys;
    /** The clients' properties. */
    final Properties config = new Properties();

    private Settings(Properties lines) {
        group = text(lines, "group");
        seed = Long.parseUnsignedLong(text(lines, "seed"));
        producers = Integer.parseInt(text(lines, "producers"));
        share = Integer.parseInt(text(lines, "share"));
        load = Load.valueOf(text(lines, "load"));
        isPoisson = Boolean.parseBoolean(text(lines, "poisson"));
        ratePerSecond = Double.parseDouble(text(lines, "rate"));
        waitMicros = Long.parseLong(text(lines, "wait"));
        everyMicros = Long.parseLong(text(lines, "every"));
        rampMicros = Long.parseLong(text(lines, "ramp"));
        valueBytes = Integer.parseInt(text(lines, "size"));
        keys = Integer.parseInt(text(lines, "keys"));
        for (int topic = 0; lines.containsKey("topic." + topic); topic++) {
            topics.add(text(lines, "topic." + topic));
        }
        for (String name : lines.stringPropertyNames()) {
            if (name.startsWith(CONFIG)) {
                config.setProperty(name.substring(CONFIG.length()), lines.getProperty(name));
            }
        }
    }

    static Settings read(BufferedReader from) throws IOException {
        StringBuilder block = new StringBuilder();
        for (String line = from.readLine(); line != null && !line.isEmpty(); line = from.readLine()) {
            block.append(line).append('\n');
        }
        Properties lines = new Properties();
        lines.load(new StringReader(block.toString()));
        return new Settings(lines);
    }

    int clients() {
        return (producers + share - 1) / share;
    }

    /** The due times of a producer in an open loop. */
    DueTimes dueTimes(int producer) {
        DueTimes times = isPoisson
            ? DueTimes.poisson(ratePerSecond, Seeds.arrivals(seed, group, producer))
            : DueTimes.constant(ratePerSecond, producer, producers);
        return times.startingAt(startMicros(producer));
    }

    /** From the moment at which the group becomes active until a producer starts: its place in the group's ramp. */
    long startMicros(int producer) {
        return rampMicros * producer / Math.max(1, producers);
    }

    private static String text(Properties lines, String name) {
        String value = lines.getProperty(name);
        if (value == null) {
            throw new IllegalArgumentException("the settings have no `" + name + "`");
        }
        return value;
    }
}
