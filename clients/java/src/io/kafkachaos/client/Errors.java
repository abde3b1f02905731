package io.kafkachaos.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownServerException;

/**
 * What went wrong with records: each kind of exception has a number, told once with its first message. And the three-valued truth behind
 * an exception: is the record certainly not in the log, or may it be?
 */
final class Errors {
    /** Numbers begin after {@link Outcomes#OK}. */
    private final Map<String, Long> numbers = new LinkedHashMap<>();
    private final List<Entry> untold = new ArrayList<>();

    /** A kind of error. */
    private static final class Entry {
        final long number;
        final boolean mayBeWritten;
        final String kind;
        final Short code;
        final String text;

        Entry(long number, boolean mayBeWritten, String kind, Short code, String text) {
            this.number = number;
            this.mayBeWritten = mayBeWritten;
            this.kind = kind;
            this.code = code;
            this.text = text;
        }
    }

    /** The number of an error. @param wasTaken whether the client had taken the record before */
    synchronized long number(Throwable error, boolean wasTaken) {
        boolean mayBeWritten = wasTaken && mayBeWritten(error);
        String kind = error.getClass().getSimpleName();
        Short code = code(error);
        Long known = numbers.get(mayBeWritten + kind + code);
        if (known != null) {
            return known;
        }
        long number = numbers.size() + 1L;
        numbers.put(mayBeWritten + kind + code, number);
        untold.add(new Entry(number, mayBeWritten, kind, code, String.valueOf(error.getMessage())));
        return number;
    }

    /** Writes the kinds that are new since the last call. */
    synchronized void tell(Json json) {
        if (untold.isEmpty()) {
            return;
        }
        json.name("errors").open();
        for (Entry entry : untold) {
            json.open().number(entry.number).text(entry.mayBeWritten ? "indeterminate" : "failed").text(entry.kind);
            if (entry.code == null) {
                json.nothing();
            } else {
                json.number(entry.code);
            }
            json.text(entry.text).close();
        }
        json.close();
        untold.clear();
    }

    /**
     * Whether a record that the client had taken may be in the log. Only a refusal that would have met its first attempt as well says that
     * it is not: too large, invalid, not allowed. The client's own exceptions (expired, cut off, closed) leave it open, because the client
     * does not tell whether the batch was ever sent. So do those that it would send again after: attempts before may have got through, and
     * with acks=all a broker may say them after it has written (DelayedProduce: no longer the leader, topic gone, disk gone, too few
     * replicas). And so do those of idempotence, which speak of what came before.
     */
    static boolean mayBeWritten(Throwable error) {
        if (error instanceof RetriableException || error instanceof UnknownServerException) {
            return true;
        }
        if (error instanceof OutOfOrderSequenceException || error instanceof InvalidProducerEpochException
            || error instanceof ProducerFencedException) {
            return true;
        }
        return !(error instanceof ApiException);
    }

    /** The broker's code, where the exception stands for one. */
    private static Short code(Throwable error) {
        if (!(error instanceof KafkaException) || error.getClass() == KafkaException.class || error instanceof TimeoutException) {
            return null;
        }
        short code = org.apache.kafka.common.protocol.Errors.forException(error).code();
        return code == -1 && !(error instanceof UnknownServerException) ? null : code;
    }
}
