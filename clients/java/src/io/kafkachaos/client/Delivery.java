package io.kafkachaos.client;

import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.RecordMetadata;

/** One record on its way: told once when its outcome is known, and once before that if its sender gives it up. */
final class Delivery implements Callback {
    private final Sender sender;
    private final int topic;
    private final long sequence;
    private final long due;
    private final long sent;
    private boolean isKnown;

    Delivery(Sender sender, int topic, long sequence, long due, long sent) {
        this.sender = sender;
        this.topic = topic;
        this.sequence = sequence;
        this.due = due;
        this.sent = sent;
    }

    /** Called by the client's thread, or by the sender itself out of {@code send} for a record that the client does not take. */
    @Override
    public void onCompletion(RecordMetadata metadata, Exception error) {
        boolean wasTaken = Thread.currentThread() != sender.thread;
        if (!wasTaken) {
            sender.refused(error);
        }
        long partition = wasTaken && metadata != null ? metadata.partition() : Outcomes.NOT_TAKEN;
        known(partition, error == null ? Outcomes.OK : sender.group.errors.number(error, wasTaken));
    }

    /** The client has thrown the record back. */
    void thrown(RuntimeException error) {
        sender.refused(error);
        known(Outcomes.NOT_TAKEN, sender.group.errors.number(error, false));
    }

    private void known(long partition, long error) {
        synchronized (this) {
            isKnown = true;
            tell(partition, error);
        }
        if (sender.waitsForOutcome) {
            LockSupport.unpark(sender.thread);
        }
    }

    synchronized boolean isKnown() {
        return isKnown;
    }

    /** Gives the record up, unless its outcome is known. */
    synchronized void giveUp() {
        if (!isKnown) {
            tell(Outcomes.NOT_TAKEN, Outcomes.GIVEN_UP);
        }
    }

    private void tell(long partition, long error) {
        if (sender.group.held.incrementAndGet() > Group.HELD_MAX) {
            sender.group.held.decrementAndGet();
            sender.group.untold.incrementAndGet();
            return;
        }
        sender.client.outcomes.add(sender.producer, topic, partition, due, sent, error, sequence);
    }
}
