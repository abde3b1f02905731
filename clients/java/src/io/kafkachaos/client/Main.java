package io.kafkachaos.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.utils.AppInfoParser;
import org.slf4j.LoggerFactory;
import org.slf4j.impl.StaticLoggerBinder;

/**
 * Makes the load of one producer group with Kafka's own client.
 *
 * <p>Commands come as lines on standard input, after the group's {@link Settings}; what happens goes as lines of JSON to standard output:
 * <pre>
 *   clock N                                        answered with this program's clock
 *   start ACTIVE_FROM_NANOS SINCE_STEADY END       the group becomes active then; END as below
 *   stop END                                       no record is due END microseconds after the group became active, or later
 *   finish DRAIN_MILLIS                            stops now, waits for outcomes, closes the clients, tells what is left, ends
 * </pre>
 * The end of standard input means that nobody listens any more: the program ends at once.
 */
public final class Main {
    static final int NOBODY_LISTENS = 3;
    private static final int BAD_SETTINGS = 2;
    /** The port "discard" of this machine: nobody answers there, and nothing of the cluster is disturbed. */
    private static final String NOWHERE = "127.0.0.1:9";

    private final Output output = new Output();
    private final BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private Group group;
    private Reporter reporter;
    private Thread reporting;

    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        // A library that prints must not get between the lines.
        System.setOut(System.err);
        new Main().run();
    }

    private void run() throws IOException, InterruptedException {
        Settings settings = Settings.read(input);
        if (LoggerFactory.getILoggerFactory() != StaticLoggerBinder.getSingleton().getLoggerFactory()) {
            refuse("Kafka's log does not go through this program, so Metadata requests cannot be counted");
        }
        boolean[] tellsWaits = {};
        try {
            tellsWaits = warmUp(settings);
        } catch (KafkaException refused) {
            refuse(deepest(refused));
        }
        String java = System.getProperty("java.vm.name") + " " + System.getProperty("java.version");
        long heapBytes = Runtime.getRuntime().maxMemory();
        Json ready = new Json().name("ready").open().text(AppInfoParser.getVersion()).text(java).number(heapBytes);
        for (boolean tells : tellsWaits) {
            ready.number(tells ? 1 : 0);
        }
        output.write(ready.close());
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            obey(line.split(" "), settings);
        }
        Runtime.getRuntime().halt(NOBODY_LISTENS);
    }

    private void obey(String[] words, Settings settings) throws InterruptedException {
        switch (words[0]) {
            case "clock" -> output.write(new Json().name("clock").open().number(number(words, 1)).number(System.nanoTime()).close());
            case "start" -> {
                group = new Group(settings, new Time(number(words, 1)), number(words, 2), number(words, 3));
                reporter = new Reporter(group, output);
                reporting = new Thread(reporter, "reporter");
                reporting.setDaemon(true);
                reporting.start();
                group.start();
            }
            case "stop" -> group.stopAt(number(words, 1));
            case "finish" -> {
                group.finish(number(words, 1));
                reporter.stop();
                reporting.join();
                reporter.tellLast();
                Runtime.getRuntime().halt(0);
            }
            default -> throw new IllegalArgumentException("no such command: " + String.join(" ", words));
        }
    }

    private static long number(String[] words, int place) {
        return Long.parseLong(words[place]);
    }

    /**
     * Loads the client's classes and has it judge the configuration, without talking to a broker: what the JVM needs for its own start
     * must not show as the first records' latency. Returns what the client tells of waits.
     */
    private static boolean[] warmUp(Settings settings) {
        Properties nowhere = new Properties();
        nowhere.setProperty("bootstrap.servers", NOWHERE);
        nowhere.setProperty("max.block.ms", "50");
        try (KafkaProducer<byte[], byte[]> producer = Client.make(settings, "warm-up", nowhere)) {
            producer.send(new ProducerRecord<>(settings.topics.get(0), new byte[1]), (metadata, error) -> { });
            producer.close(Duration.ZERO);
            return Client.tellsWaits(producer);
        }
    }

    private void refuse(String because) {
        output.write(new Json().name("refused").text(because));
        Runtime.getRuntime().halt(BAD_SETTINGS);
    }

    /** What is at the root: at the top the client only says that it could not be made. Without a message, the name of its class says most. */
    static String deepest(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.toString() : root.getMessage();
    }
}
