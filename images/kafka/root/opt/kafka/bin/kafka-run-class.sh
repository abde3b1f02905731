#!/bin/sh
# kafka-run-class.sh CLASS [ARGUMENT...]: runs a class of Kafka with the options of the environment.
set -eu

# In the order of the names: an archive of classes is only valid for the class path that it was made with.
class_path=
for jar in /opt/kafka/libs/*.jar; do
  class_path=$class_path${class_path:+:}$jar
done

archive=/opt/kafka/archive/${CHAOS_CLASS_ARCHIVE:-none}.jsa
if [ -f "$archive" ]; then
  archive=-XX:SharedArchiveFile=$archive
else
  archive=-Xshare:auto
fi

# The options are lists of words, so they are split on purpose.
# shellcheck disable=SC2086
exec java ${KAFKA_HEAP_OPTS:--Xmx256M} \
  ${KAFKA_JVM_PERFORMANCE_OPTS:--XX:+UseSerialGC -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true} \
  "$archive" ${KAFKA_JMX_OPTS:-} \
  ${KAFKA_LOG4J_OPTS:-$(/opt/kafka/bin/log-options /etc/kafka/docker tools-log4j)} \
  ${KAFKA_OPTS:-} -cp "$class_path" "$@"
