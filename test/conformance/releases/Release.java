import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.message.ApiVersionsResponseData.ApiVersion;
import org.apache.kafka.common.protocol.ApiKeys;

/**
 * Prints, as JSON, what a broker of the Kafka release on the class path answers ApiVersions with: each API with its range, and
 * the features that it supports and a new cluster begins with. It runs with 2.8 and later, whose methods differ, hence the
 * reflection. Run it as `java -cp "$(./jars 3.9.2)" Release.java`.
 */
public class Release {
  public static void main(String[] args) throws Exception {
    ListenerType listener = listenerOfClients();
    StringBuilder apis = new StringBuilder();
    for (ApiKeys api : ApiKeys.apisForListener(listener)) {
      ApiVersion range = rangeOf(api, listener);
      if (range == null) continue;
      if (apis.length() > 0) apis.append(",\n");
      apis.append(String.format(
          "    { \"key\": %d, \"name\": \"%s\", \"versions\": [%d, %d] }", api.id, api.name, range.minVersion(), range.maxVersion()));
    }
    System.out.printf("{%n  \"listener\": \"%s\",%n  \"apis\": [%n%s%n  ],%n  \"features\": [%s]%n}%n",
        listener == ListenerType.BROKER ? "broker" : "zkBroker", apis, features(listener));
  }

  /** KRaft where it was ready for production (3.3), ZooKeeper before: what most brokers of that release were run with. */
  static ListenerType listenerOfClients() {
    String[] version = org.apache.kafka.common.utils.AppInfoParser.getVersion().split("\\.");
    int major = Integer.parseInt(version[0]);
    boolean kraft = major > 3 || (major == 3 && Integer.parseInt(version[1]) >= 3);
    return ListenerType.valueOf(kraft ? "BROKER" : "ZK_BROKER");
  }

  /** The range that the release tells: without versions that are not stable, which `unstable.api.versions.enable` hides. */
  static ApiVersion rangeOf(ApiKeys api, ListenerType listener) throws Exception {
    Optional<?> range;
    try {
      Method told = ApiKeys.class.getMethod("toApiVersionForApiResponse", boolean.class, ListenerType.class); // 4.0
      range = (Optional<?>) told.invoke(api, false, listener);
    } catch (NoSuchMethodException before4) {
      try {
        range = (Optional<?>) ApiKeys.class.getMethod("toApiVersion", boolean.class).invoke(api, false); // 3.5
      } catch (NoSuchMethodException before35) {
        range = Optional.of(
            new ApiVersion().setApiKey(api.id).setMinVersion(api.oldestVersion()).setMaxVersion(api.latestVersion()));
      }
    }
    return (ApiVersion) range.orElse(null);
  }

  /** Brokers with ZooKeeper have none; the others say it in `BrokerFeatures`, in Scala before 4.0. */
  @SuppressWarnings("unchecked")
  static String features(ListenerType listener) throws Exception {
    if (listener != ListenerType.BROKER) return "";
    Class<?> brokerFeatures;
    try {
      brokerFeatures = Class.forName("org.apache.kafka.server.BrokerFeatures");
    } catch (ClassNotFoundException before4) {
      brokerFeatures = Class.forName("kafka.server.BrokerFeatures");
    }
    Object features;
    try {
      features = brokerFeatures.getMethod("createDefault", boolean.class).invoke(null, false);
    } catch (NoSuchMethodException before37) {
      features = brokerFeatures.getMethod("createDefault").invoke(null);
    }
    Map<String, Short> begins =
        new TreeMap<>(finalized(brokerFeatures.getMethod("defaultFinalizedFeatures").invoke(features)));
    begins.putAll(levelsOfNewClusters());
    Object supported = brokerFeatures.getMethod("supportedFeatures").invoke(features);
    Map<String, Object> ranges =
        new TreeMap<>((Map<String, Object>) supported.getClass().getMethod("features").invoke(supported));
    StringBuilder all = new StringBuilder();
    for (Map.Entry<String, Object> feature : ranges.entrySet()) {
      Object range = feature.getValue();
      all.append(all.length() > 0 ? ",\n" : "\n").append(String.format(
          "    { \"name\": \"%s\", \"supported\": [%s, %s], \"finalized\": %s }", feature.getKey(),
          range.getClass().getMethod("min").invoke(range), range.getClass().getMethod("max").invoke(range),
          begins.getOrDefault(feature.getKey(), (short) 0)));
    }
    return all + "\n  ";
  }

  /** From 4.0 on, what a new cluster begins with is not always the highest level. */
  static Map<String, Short> levelsOfNewClusters() throws Exception {
    Map<String, Short> levels = new TreeMap<>();
    try {
      Class<?> feature = Class.forName("org.apache.kafka.server.common.Feature");
      Class<?> version = Class.forName("org.apache.kafka.server.common.MetadataVersion");
      Method level = feature.getMethod("defaultLevel", version);
      for (Object each : feature.getEnumConstants()) {
        String name = (String) feature.getMethod("featureName").invoke(each);
        levels.put(name, (Short) level.invoke(each, version.getField("LATEST_PRODUCTION").get(null)));
      }
    } catch (ClassNotFoundException before4) {
      // The levels that BrokerFeatures says are the ones.
    }
    return levels;
  }

  @SuppressWarnings("unchecked")
  static Map<String, Short> finalized(Object map) throws Exception {
    if (map instanceof Map) return (Map<String, Short>) map;
    Map<String, Short> all = new TreeMap<>();
    Object entries = map.getClass().getMethod("iterator").invoke(map);
    Method hasNext = Class.forName("scala.collection.Iterator").getMethod("hasNext");
    Method next = Class.forName("scala.collection.Iterator").getMethod("next");
    while ((boolean) hasNext.invoke(entries)) {
      Object entry = next.invoke(entries);
      Class<?> pair = Class.forName("scala.Tuple2");
      all.put((String) pair.getMethod("_1").invoke(entry), ((Number) pair.getMethod("_2").invoke(entry)).shortValue());
    }
    return all;
  }
}
