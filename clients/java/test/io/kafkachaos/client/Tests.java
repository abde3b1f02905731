package io.kafkachaos.client;

import java.io.BufferedReader;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.BufferExhaustedException;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.errors.NetworkException;
import org.apache.kafka.common.errors.NotEnoughReplicasAfterAppendException;
import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.apache.kafka.common.errors.NotLeaderOrFollowerException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The program's tests, run when it is built. */
public final class Tests {
    private Tests() {
    }

    /** @param arguments the file of values that the native load makes, which its own tests hold up to date */
    public static void main(String[] arguments) throws Exception {
        sameAsTheNativeLoad(Path.of(arguments[0]));
        truthOfExceptions();
        linesAreJson();
        aRampShiftsSchedules();
        waitsAreToldFromAMillisecondOn();
        aWaitInVainIsOneWait();
        waitsOfOtherSendsAreNotThisOnes();
        whatIsLongIsToldInSeveralLines();
        partitionCountsAreToldWhenTheyChange();
        aRefusalWithoutAMessageSaysWhatItIs();
        theEndIsNeverInThePast();
        theLogIsReadByItsArguments();
        aClientThatCannotBeMadeRefusesItsRecords();
    }

    private static void sameAsTheNativeLoad(Path golden) throws Exception {
        List<String> expected = Files.readAllLines(golden);
        List<String> made = Golden.lines();
        check("lines of " + golden, expected.size(), made.size());
        for (int line = 0; line < made.size(); line++) {
            check(golden + ", line " + (line + 1), expected.get(line), made.get(line));
        }
    }

    private static void truthOfExceptions() {
        check("expired", true, Errors.mayBeWritten(new TimeoutException("Expiring 1 record(s)")));
        check("cut off", true, Errors.mayBeWritten(new NetworkException("Disconnected from node 1")));
        check("closed", true, Errors.mayBeWritten(new KafkaException("Producer is closed forcefully.")));
        check("no longer the leader", true, Errors.mayBeWritten(new NotLeaderOrFollowerException("moved after the append")));
        check("topic gone", true, Errors.mayBeWritten(new UnknownTopicOrPartitionException("deleted after the append")));
        check("disk gone", true, Errors.mayBeWritten(new KafkaStorageException("lost after the append")));
        check("too few after the append", true, Errors.mayBeWritten(new NotEnoughReplicasAfterAppendException("1 of 3")));
        check("last of several attempts", true, Errors.mayBeWritten(new NotEnoughReplicasException("2 of 3")));
        check("of what came before", true, Errors.mayBeWritten(new OutOfOrderSequenceException("a gap")));
        check("server error", true, Errors.mayBeWritten(new UnknownServerException("oh")));
        check("too large", false, Errors.mayBeWritten(new RecordTooLargeException("large")));
        check("not allowed", false, Errors.mayBeWritten(new TopicAuthorizationException("orders")));
        check("invalid", false, Errors.mayBeWritten(new InvalidTimestampException("too late")));
        Errors errors = new Errors();
        check("first kind", 1L, errors.number(new TimeoutException("one"), true));
        check("same kind", 1L, errors.number(new TimeoutException("two"), true));
        check("not taken: another truth", 2L, errors.number(new TimeoutException("three"), false));
        check("another class", 3L, errors.number(new BufferExhaustedException("four"), false));
        Json json = new Json();
        errors.tell(json);
        check("told", "{\"errors\":[[1,\"indeterminate\",\"TimeoutException\",null,\"one\"],[2,\"failed\",\"TimeoutException\",null,\"three\"],"
            + "[3,\"failed\",\"BufferExhaustedException\",null,\"four\"]]}\n", json.line());
    }

    private static void aRampShiftsSchedules() throws Exception {
        Settings settings = group("ramp", "ramp=3000000\nproducers=2\n", Long.MAX_VALUE).settings;
        check("first", 0L, settings.startMicros(0));
        check("second", 1_500_000L, settings.startMicros(1));
        check("its schedule", 1_500_500L, settings.dueTimes(1).nextMicros());
    }

    private static void linesAreJson() {
        Json json = new Json().name("a").open().number(-1).nothing().text("x\"\\\n").open().close().close().name("b").number(2);
        json.list("c").endList().list("d").open().number(1).close().open().close().endList();
        check("line", "{\"a\":[-1,null,\"x\\\"\\\\\\u000a\",[]],\"b\":2,\"d\":[[1],[]]}\n", json.line());
    }

    private static void waitsAreToldFromAMillisecondOn() {
        Waits waits = new Waits();
        waits.add(3, Waits.MEMORY, 10, 999, true);
        waits.add(3, Waits.METADATA, 20, 1_000, false);
        check("waits", "[[3,0,20,1000,0]]", told(waits));
    }

    private static String told(Waits waits) {
        Json json = new Json().list("w");
        check("all fit", false, waits.tell(json));
        return json.endList().line().replaceAll("\\{\"w\":|\\}\n", "");
    }

    /** The client's clock for memory has counted it, that for metadata has not. */
    private static void aWaitInVainIsOneWait() {
        Waits waits = new Waits();
        waits.ofSend(0, 10, 62_000, 2_000, 59_999, new BufferExhaustedException("none in 60 s"));
        check("memory", "[[0,0,10,2000,1],[0,1,10,60000,0]]", told(waits));
        waits.ofSend(0, 10, 60_000, 0, 0, new TimeoutException("not present in metadata"));
        check("metadata", "[[0,0,10,60000,0]]", told(waits));
        waits.ofSend(0, 10, 9_000, 0, 8_000, new KafkaException("Producer closed while allocating memory"));
        check("closed", "[[0,1,10,8000,0]]", told(waits));
        waits.ofSend(0, 10, 9_000, 3_000, 5_000, null);
        check("both in turn", "[[0,0,10,3000,1],[0,1,10,5000,1]]", told(waits));
    }

    private static void waitsOfOtherSendsAreNotThisOnes() {
        long[] reading = {Client.UNKNOWN};
        WaitClock clock = new WaitClock(() -> reading[0]);
        clock.begin();
        check("not there", 0L, clock.moved(100));
        reading[0] = 30;
        check("there since the send", 30L, clock.moved(100));
        // Sends too short to be asked.
        for (int send = 0; send < 10; send++) {
            clock.begin();
            reading[0] += 900;
        }
        clock.begin();
        check("a pause of this program", 0L, clock.moved(20_000));
        reading[0] += 5_000;
        check("a wait", 5_000L, clock.moved(20_000));
        check("no longer than the send", 4_000L, clock.moved(4_000));
    }

    private static void whatIsLongIsToldInSeveralLines() {
        Waits waits = new Waits();
        Lateness lateness = new Lateness();
        int count = 50_000;
        for (int number = 0; number < count; number++) {
            waits.add(1, Waits.MEMORY, 1_000_000 + number, 1_000, true);
            lateness.note(1_000_000 + number);
        }
        check("waits", count, entriesInLines(waits::tell));
        check("lateness", count, entriesInLines(lateness::tell));
    }

    /** Entries in all lines together. */
    private static int entriesInLines(Predicate<Json> tell) {
        int entries = 0;
        boolean hasMore = true;
        while (hasMore) {
            Json json = new Json().list("l");
            hasMore = tell.test(json);
            String line = json.endList().line();
            check("no line is much longer than 64 KiB", true, line.length() < 66_000);
            entries += line.length() - line.replace("[1", "1").length();
        }
        return entries;
    }

    private static void partitionCountsAreToldWhenTheyChange() throws Exception {
        MetadataLog log = MetadataLog.of(group("counts", "topic.1=other\n", Long.MAX_VALUE), 0);
        log.updated(1, cluster("orders", 3));
        log.updated(2, cluster("orders", 3));
        log.updated(3, cluster("orders", 6));
        log.updated(4, cluster("other", 1));
        String expected = "[\"updated\",0,T,1,[[0,3]]],[\"updated\",0,T,2,[]],[\"updated\",0,T,3,[[0,6]]],[\"updated\",0,T,4,[[0,0],[1,1]]]";
        check("counts", "{\"m\":[" + expected + "]}\n", told(log));
        for (int number = 0; number < 10_001; number++) {
            log.updated(number, cluster("orders", 9));
        }
        log.updated(5, cluster("orders", 1));
        check("did not fit", 2L, log.takeLost());
        while (log.tell(new Json().list("m"))) {
            check("nothing is lost any more", 0L, log.takeLost());
        }
        log.updated(6, cluster("orders", 1));
        check("a change that was lost is still one", "{\"m\":[[\"updated\",0,T,6,[[0,1]]]]}\n", told(log));
    }

    private static String told(MetadataLog log) {
        Json json = new Json().list("m");
        check("all fits", false, log.tell(json));
        return json.endList().line().replaceAll("\",0,[0-9]+,", "\",0,T,");
    }

    private static Cluster cluster(String topic, int partitions) {
        List<PartitionInfo> all = IntStream.range(0, partitions).mapToObj(index -> new PartitionInfo(topic, index, null, null, null)).toList();
        return new Cluster("cluster", List.of(), all, Set.of(), Set.of());
    }

    private static void aRefusalWithoutAMessageSaysWhatItIs() {
        check("message", "oh", Main.deepest(new KafkaException("top", new IllegalStateException("oh"))));
        check("none", "java.lang.IllegalStateException", Main.deepest(new KafkaException("top", new IllegalStateException())));
    }

    private static void theEndIsNeverInThePast() throws Exception {
        Group group = group("ends", "", Long.MAX_VALUE);
        long planned = group.time.nowMicros() + 60_000_000;
        group.stopAt(planned);
        check("told ahead", planned, group.end);
        long before = group.presentAndEnd()[0];
        group.stopAt(-5);
        check("what was sent by now was due", true, group.end > before && group.end < planned);
        long end = group.end;
        group.stopAt(planned);
        check("the earliest holds", end, group.end);
    }

    /** A group of one producer without a schedule to speak of. */
    private static Group group(String name, String more, long end) throws Exception {
        String lines = "group=" + name + "\nseed=1\nproducers=1\nshare=1\nload=OPEN\npoisson=false\nrate=1000\nwait=0\nevery=0\nramp=0\nsize=9\nkeys=0\n"
            + "topic.0=orders\nconfig.acks=all\n" + more + "\n";
        return new Group(Settings.read(new BufferedReader(new StringReader(lines))), new Time(System.nanoTime()), 0, end);
    }

    private static void theLogIsReadByItsArguments() throws Exception {
        Group group = group("g", "", Long.MAX_VALUE);
        check("settings", "all", group.settings.config.getProperty("acks"));
        MetadataLog log = MetadataLog.of(group, 0);
        String prefix = "[Producer clientId=g-0] ";
        MetadataLog.line(prefix + "Sending metadata request {} to node {}", new Object[] {"any", new Node(2, "host", 1)});
        MetadataLog.line(prefix + "Cancelled in-flight {} request with", new Object[] {"PRODUCE", 7});
        MetadataLog.line(prefix + "Cancelled in-flight {} request with", new Object[] {"METADATA", 8});
        MetadataLog.line("[Producer clientId=other-0] Sending metadata request {} to node {}", new Object[] {"any", new Node(2, "host", 1)});
        check("log", "{\"m\":[[\"sent\",0,T,2,[]],[\"cut_off\",0,T,0,[]]]}\n", told(log));
    }

    /** Nobody can connect to an address without a port: the client does not even come to be, as with a name that does not resolve. */
    private static void aClientThatCannotBeMadeRefusesItsRecords() throws Exception {
        Group group = group("nowhere", "config.bootstrap.servers=127.0.0.1\n", 2_999);
        group.start();
        group.senders.get(0).thread.join();
        Client client = group.clients.get(0);
        long[] told = client.outcomes.take();
        check("all have an outcome", group.senders.get(0).sent(), (long) told.length / Outcomes.COLUMNS);
        check("three are due", 3L, group.senders.get(0).sent());
        for (int record = 0; record < told.length; record += Outcomes.COLUMNS) {
            check("not taken", Outcomes.NOT_TAKEN, told[record + 2]);
            check("one kind of error", 1L, told[record + 6]);
        }
        Json json = new Json();
        group.errors.tell(json);
        client.tellMade(json.list("made"));
        client.tellMade(json.endList());
        String line = json.line();
        check(line, true, line.contains("\"failed\",\"ConfigException\",null,\"Invalid url in bootstrap.servers"));
        check("made is told, once", "{\"made\":[[0,T]]}\n", line.replaceAll("\\[0,[0-9]+\\]", "[0,T]").replaceAll("\"errors.*\\]\\],", ""));
    }

    private static void check(String what, Object expected, Object found) {
        if (!Objects.equals(expected, found)) {
            throw new AssertionError(what + ": expected\n  " + expected + "\nfound\n  " + found);
        }
    }
}
