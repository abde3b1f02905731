package io.kafkachaos.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.DisconnectException;
import org.apache.kafka.common.errors.NetworkException;
import org.apache.kafka.common.errors.NotEnoughReplicasAfterAppendException;
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
     * Whether a record that the client had taken may be in the log. An exception that a broker's refusal makes says that it is not; the
     * client's own ones (expired, cut off, closed) leave it open, because the client does not tell whether the batch was ever sent.
     */
    static boolean mayBeWritten(Throwable error) {
        if (error instanceof TimeoutException || error instanceof NetworkException || error instanceof DisconnectException) {
            return true;
        }
        if (error instanceof NotEnoughReplicasAfterAppendException || error instanceof UnknownServerException) {
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
