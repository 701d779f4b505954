// Runs one operation with the Java clients of Apache Kafka, as a program that is written with them does; the tools of
// `client.ts` are programs of Kafka's own. How it is asked and how it answers is said in ../driver-io.mjs.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Driver {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final JsonNode options;
  private final String topic;

  private Driver(JsonNode options) {
    this.options = options;
    this.topic = options.path("topic").asText();
  }

  public static void main(String[] args) throws IOException {
    JsonNode options = JSON.readTree(args[0]);
    int status = 0;
    try {
      emit("result", JSON.createObjectNode().set("value", new Driver(options).run()));
    } catch (Exception error) {
      Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
      emit("error", JSON.createObjectNode().put("message", cause.toString()));
      status = 1;
    }
    Runtime.getRuntime().halt(status);
  }

  private static synchronized void emit(String event, ObjectNode fields) {
    System.out.println(fields.put("event", event));
    System.out.flush();
  }

  private JsonNode run() throws Exception {
    switch (options.get("operation").asText()) {
      case "produce": return produce();
      case "sendLines": return sendLines();
      case "keepProducing": return keepProducing();
      case "readPartition": return readPartition();
      case "join": return join();
      case "consumeAndCommit": return consumeAndCommit();
      case "committedOffset": return committedOffset();
      case "commitOffset": return commitOffset();
      case "createTopic": return createTopic();
      case "describeTopic": return describeTopic();
      case "deleteTopic": return deleteTopic();
      default: throw new IllegalArgumentException(options.toString());
    }
  }

  private Map<String, Object> settings() {
    Map<String, Object> settings = new HashMap<>();
    settings.put("bootstrap.servers", options.get("bootstrapServers").asText());
    settings.put("client.id", options.get("clientId").asText());
    return settings;
  }

  private KafkaProducer<String, String> producer() {
    Map<String, Object> settings = settings();
    settings.put("enable.idempotence", options.path("idempotent").asBoolean(false));
    settings.put("compression.type", options.path("codec").asText("none"));
    if (options.has("giveUpAfterMs")) settings.put("max.block.ms", options.get("giveUpAfterMs").asText());
    return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
  }

  private KafkaConsumer<String, String> consumer(String group, String reset, boolean autoCommit) {
    Map<String, Object> settings = settings();
    if (group != null) settings.put("group.id", group);
    settings.put("auto.offset.reset", reset);
    settings.put("enable.auto.commit", autoCommit);
    settings.put("session.timeout.ms", options.get("sessionTimeoutMs").asInt());
    settings.put("heartbeat.interval.ms", options.get("heartbeatIntervalMs").asInt());
    return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
  }

  private JsonNode produce() throws Exception {
    try (KafkaProducer<String, String> producer = producer()) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (JsonNode each : options.get("records")) {
        String value = each.get("value").isNull() ? null : each.get("value").asText();
        ProducerRecord<String, String> record = new ProducerRecord<>(topic, each.get("key").asText(), value);
        for (JsonNode header : each.path("headers")) {
          record.headers().add(header.get(0).asText(), header.get(1).asText().getBytes(StandardCharsets.UTF_8));
        }
        sent.add(producer.send(record));
      }
      for (Future<RecordMetadata> each : sent) each.get();
    }
    return null;
  }

  private JsonNode sendLines() throws Exception {
    try (KafkaProducer<String, String> producer = producer()) {
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String value; (value = lines.readLine()) != null; ) {
        producer.send(new ProducerRecord<>(topic, "k-" + value, value)).get();
      }
    }
    return null;
  }

  private JsonNode keepProducing() throws Exception {
    int partitions = options.get("partitions").asInt();
    long pauseMs = 1000L * partitions / options.get("recordsPerSecond").asInt();
    AtomicBoolean leaving = askedToLeave();
    try (KafkaProducer<String, String> producer = producer()) {
      for (int number = 0; !leaving.get(); number++) {
        for (int partition = 0; partition < partitions; partition++) {
          String value = partition + ":" + number;
          ObjectNode fields = JSON.createObjectNode().put("partition", partition).put("value", value);
          producer.send(new ProducerRecord<>(topic, partition, null, value), (metadata, error) -> {
            if (error == null) emit("acknowledged", fields.put("offset", metadata.offset()));
            else emit("unacknowledged", fields.put("message", error.toString()));
          });
        }
        Thread.sleep(pauseMs);
      }
    }
    return null;
  }

  /** Becomes true once standard input ends. */
  private static AtomicBoolean askedToLeave() {
    AtomicBoolean leaving = new AtomicBoolean();
    Thread waiting = new Thread(() -> {
      try {
        while (System.in.read() >= 0) {}
      } catch (IOException error) {
        // It ended, one way or the other.
      }
      leaving.set(true);
    });
    waiting.setDaemon(true);
    waiting.start();
    return leaving;
  }

  private TopicPartition partition() {
    return new TopicPartition(topic, options.get("partition").asInt());
  }

  private List<ConsumerRecord<String, String>> take(KafkaConsumer<String, String> consumer) {
    int count = options.get("count").asInt();
    List<ConsumerRecord<String, String>> records = new ArrayList<>();
    while (records.size() < count) consumer.poll(Duration.ofMillis(100)).forEach(records::add);
    return records.subList(0, count);
  }

  private static ObjectNode plain(ConsumerRecord<String, String> record) {
    return JSON.createObjectNode()
        .put("partition", record.partition())
        .put("offset", record.offset())
        .put("key", record.key())
        .put("value", record.value());
  }

  private static ArrayNode plain(List<ConsumerRecord<String, String>> records) {
    ArrayNode array = JSON.createArrayNode();
    for (ConsumerRecord<String, String> record : records) array.add(plain(record));
    return array;
  }

  private JsonNode readPartition() {
    try (KafkaConsumer<String, String> consumer = consumer(null, "none", false)) {
      consumer.assign(List.of(partition()));
      consumer.seek(partition(), options.get("offset").asLong());
      return plain(take(consumer));
    }
  }

  private static final class Announcer implements ConsumerRebalanceListener {
    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {}

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
      ObjectNode fields = JSON.createObjectNode();
      ArrayNode partitions = fields.putArray("partitions");
      for (TopicPartition each : assigned) partitions.add(each.partition());
      emit("assigned", fields);
    }
  }

  private JsonNode join() {
    String group = options.get("group").asText();
    AtomicBoolean leaving = askedToLeave();
    try (KafkaConsumer<String, String> consumer = consumer(group, options.get("reset").asText(), true)) {
      consumer.subscribe(List.of(topic), new Announcer());
      while (!leaving.get()) consumer.poll(Duration.ofMillis(100)).forEach(record -> emit("record", plain(record)));
    }
    return null;
  }

  private JsonNode consumeAndCommit() {
    try (KafkaConsumer<String, String> consumer = consumer(options.get("group").asText(), "earliest", false)) {
      consumer.subscribe(List.of(topic));
      List<ConsumerRecord<String, String>> records = take(consumer);
      ConsumerRecord<String, String> last = records.get(records.size() - 1);
      TopicPartition partition = new TopicPartition(topic, last.partition());
      consumer.commitSync(Map.of(partition, new OffsetAndMetadata(last.offset() + 1)));
      return plain(records);
    }
  }

  private JsonNode committedOffset() {
    try (KafkaConsumer<String, String> consumer = consumer(options.get("group").asText(), "none", false)) {
      return JSON.valueToTree(consumer.committed(Set.of(partition())).get(partition()).offset());
    }
  }

  private JsonNode commitOffset() {
    try (KafkaConsumer<String, String> consumer = consumer(options.get("group").asText(), "none", false)) {
      consumer.assign(List.of(partition()));
      consumer.commitSync(Map.of(partition(), new OffsetAndMetadata(options.get("offset").asLong())));
    }
    return null;
  }

  private JsonNode createTopic() throws Exception {
    Map<String, String> configs = new HashMap<>();
    options.get("configs").fields().forEachRemaining(each -> configs.put(each.getKey(), each.getValue().asText()));
    NewTopic created = new NewTopic(topic, options.get("partitions").asInt(), (short) 1).configs(configs);
    try (Admin admin = Admin.create(settings())) {
      admin.createTopics(List.of(created)).all().get();
    }
    return null;
  }

  private JsonNode describeTopic() throws Exception {
    ObjectNode description = JSON.createObjectNode();
    ArrayNode leaders = description.putArray("leaders");
    try (Admin admin = Admin.create(settings())) {
      descriptions(admin.describeTopics(List.of(topic))).get().get(topic).partitions()
          .forEach(partition -> leaders.add(partition.leader().id()));
    }
    return description.put("partitions", leaders.size());
  }

  /** Called otherwise before 3.1, and gone under the old name in 4.0; old clients run this program too. */
  @SuppressWarnings("unchecked")
  private static Future<Map<String, TopicDescription>> descriptions(DescribeTopicsResult result) throws Exception {
    Class<?> results = DescribeTopicsResult.class;
    try {
      return (Future<Map<String, TopicDescription>>) results.getMethod("allTopicNames").invoke(result);
    } catch (NoSuchMethodException before31) {
      return (Future<Map<String, TopicDescription>>) results.getMethod("all").invoke(result);
    }
  }

  private JsonNode deleteTopic() throws Exception {
    try (Admin admin = Admin.create(settings())) {
      admin.deleteTopics(List.of(topic)).all().get();
    }
    return null;
  }
}
