package io.kafkachaos.client;

import java.util.Set;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MarkerIgnoringBase;
import org.slf4j.helpers.MessageFormatter;

/**
 * Where Kafka's log goes, instead of log4j: errors to standard error, what two classes say of metadata to {@link MetadataLog}, nothing
 * else anywhere. Lines are not put together for that, so listening costs next to nothing.
 */
public final class KafkaLogger extends MarkerIgnoringBase {
    private static final long serialVersionUID = 1L;
    private static final Set<String> TALKERS = Set.of("org.apache.kafka.clients.NetworkClient", "org.apache.kafka.clients.Metadata");

    private final boolean isTalker;

    public KafkaLogger(String name) {
        this.name = name;
        this.isTalker = TALKERS.contains(name);
    }

    @Override
    public boolean isDebugEnabled() {
        return isTalker;
    }

    @Override
    public void debug(String text) {
        debug(text, new Object[0]);
    }

    @Override
    public void debug(String format, Object argument) {
        debug(format, new Object[] {argument});
    }

    @Override
    public void debug(String format, Object first, Object second) {
        debug(format, new Object[] {first, second});
    }

    @Override
    public void debug(String format, Object... arguments) {
        if (isTalker) {
            MetadataLog.line(format, arguments);
        }
    }

    @Override
    public void debug(String text, Throwable error) {
        debug(text, new Object[0]);
    }

    @Override
    public boolean isErrorEnabled() {
        return true;
    }

    @Override
    public void error(String text) {
        System.err.println(text);
    }

    @Override
    public void error(String format, Object argument) {
        error(format, new Object[] {argument});
    }

    @Override
    public void error(String format, Object first, Object second) {
        error(format, new Object[] {first, second});
    }

    @Override
    public void error(String format, Object... arguments) {
        FormattingTuple line = MessageFormatter.arrayFormat(format, arguments);
        error(line.getMessage(), line.getThrowable());
    }

    @Override
    public void error(String text, Throwable error) {
        System.err.println(error == null ? text : text + ": " + error);
    }

    // The levels that nobody listens to.

    @Override
    public boolean isTraceEnabled() {
        return false;
    }

    @Override
    public void trace(String text) {
    }

    @Override
    public void trace(String format, Object argument) {
    }

    @Override
    public void trace(String format, Object first, Object second) {
    }

    @Override
    public void trace(String format, Object... arguments) {
    }

    @Override
    public void trace(String text, Throwable error) {
    }

    @Override
    public boolean isInfoEnabled() {
        return false;
    }

    @Override
    public void info(String text) {
    }

    @Override
    public void info(String format, Object argument) {
    }

    @Override
    public void info(String format, Object first, Object second) {
    }

    @Override
    public void info(String format, Object... arguments) {
    }

    @Override
    public void info(String text, Throwable error) {
    }

    @Override
    public boolean isWarnEnabled() {
        return false;
    }

    @Override
    public void warn(String text) {
    }

    @Override
    public void warn(String format, Object argument) {
    }

    @Override
    public void warn(String format, Object first, Object second) {
    }

    @Override
    public void warn(String format, Object... arguments) {
    }

    @Override
    public void warn(String text, Throwable error) {
    }
}
