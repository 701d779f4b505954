// Runs one operation with franz-go; ../../driver-io.mjs says how it is asked and how it answers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type outgoing struct {
	Key     string      `json:"key"`
	Value   *string     `json:"value"`
	Headers [][2]string `json:"headers"`
}

type options struct {
	Operation           string             `json:"operation"`
	BootstrapServers    string             `json:"bootstrapServers"`
	ClientID            string             `json:"clientId"`
	SessionTimeoutMs    int                `json:"sessionTimeoutMs"`
	HeartbeatIntervalMs int                `json:"heartbeatIntervalMs"`
	Topic               string             `json:"topic"`
	Group               string             `json:"group"`
	Reset               string             `json:"reset"`
	Records             []outgoing         `json:"records"`
	Codec               string             `json:"codec"`
	Idempotent          bool               `json:"idempotent"`
	GiveUpAfterMs       int                `json:"giveUpAfterMs"`
	RecordsPerSecond    int                `json:"recordsPerSecond"`
	Patient             bool               `json:"patient"`
	Partition           int32              `json:"partition"`
	Partitions          int32              `json:"partitions"`
	Offset              int64              `json:"offset"`
	Count               int                `json:"count"`
	Configs             map[string]*string `json:"configs"`
}

type plain struct {
	Partition int32   `json:"partition"`
	Offset    int64   `json:"offset"`
	Key       *string `json:"key"`
	Value     *string `json:"value"`
}

type event map[string]any

func emit(event event) {
	line, _ := json.Marshal(event)
	fmt.Println(string(line))
}

func text(data []byte) *string {
	if data == nil {
		return nil
	}
	value := string(data)
	return &value
}

func plainOf(record *kgo.Record) plain {
	return plain{record.Partition, record.Offset, text(record.Key), text(record.Value)}
}

func (o options) connect(more ...kgo.Opt) *kgo.Client {
	seeds := strings.Split(o.BootstrapServers, ",")
	client, err := kgo.NewClient(append(more, kgo.SeedBrokers(seeds...), kgo.ClientID(o.ClientID))...)
	if err != nil {
		panic(err)
	}
	return client
}

var codecs = map[string]kgo.CompressionCodec{
	"":       kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func (o options) producer() *kgo.Client {
	more := []kgo.Opt{kgo.AllowAutoTopicCreation(), kgo.ProducerBatchCompression(codecs[o.Codec])}
	if !o.Idempotent {
		more = append(more, kgo.DisableIdempotentWrite())
	}
	if o.GiveUpAfterMs > 0 {
		// A topic that is not there is bounded in tries, not in time.
		more = append(more, kgo.UnknownTopicRetries(1), kgo.MetadataMinAge(time.Second))
	}
	return o.connect(more...)
}

func (o options) produce(ctx context.Context) (any, error) {
	client := o.producer()
	defer client.Close()
	records := make([]*kgo.Record, 0, len(o.Records))
	for _, each := range o.Records {
		record := &kgo.Record{Topic: o.Topic, Key: []byte(each.Key)}
		if each.Value != nil {
			record.Value = []byte(*each.Value)
		}
		for _, header := range each.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: header[0], Value: []byte(header[1])})
		}
		records = append(records, record)
	}
	return nil, client.ProduceSync(ctx, records...).FirstErr()
}

func (o options) sendLines(ctx context.Context) (any, error) {
	client := o.producer()
	defer client.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		record := &kgo.Record{Topic: o.Topic, Key: []byte("k-" + lines.Text()), Value: []byte(lines.Text())}
		err := client.ProduceSync(ctx, record).FirstErr()
		if errors.Is(err, kerr.UnknownTopicID) {
			// It never takes up a topic that was made anew, unless it is told to forget the old one.
			client.PurgeTopicsFromProducing(o.Topic)
			again := &kgo.Record{Topic: o.Topic, Key: record.Key, Value: record.Value}
			err = client.ProduceSync(ctx, again).FirstErr()
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, lines.Err()
}

func (o options) keepProducing(ctx context.Context) (any, error) {
	client := o.connect(kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer client.Close()
	told := func(record *kgo.Record, err error) {
		if err != nil {
			emit(event{
				"event": "unacknowledged", "partition": record.Partition, "value": string(record.Value), "message": err.Error(),
			})
			return
		}
		emit(event{
			"event": "acknowledged", "partition": record.Partition, "offset": record.Offset, "value": string(record.Value),
		})
	}
	leaving := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(leaving)
	}()
	ticks := time.NewTicker(time.Second * time.Duration(o.Partitions) / time.Duration(o.RecordsPerSecond))
	defer ticks.Stop()
	for number := 0; ; number++ {
		for partition := range o.Partitions {
			value := fmt.Sprintf("%d:%d", partition, number)
			client.Produce(ctx, &kgo.Record{Topic: o.Topic, Partition: partition, Value: []byte(value)}, told)
		}
		select {
		case <-leaving:
			return nil, client.Flush(ctx)
		case <-ticks.C:
		}
	}
}

func take(ctx context.Context, client *kgo.Client, count int) ([]plain, *kgo.Record, error) {
	records := []plain{}
	for {
		fetches := client.PollRecords(ctx, count-len(records))
		if err := fetches.Err(); err != nil {
			return nil, nil, err
		}
		for _, record := range fetches.Records() {
			records = append(records, plainOf(record))
			if len(records) == count {
				return records, record, nil
			}
		}
	}
}

func (o options) readPartition(ctx context.Context) (any, error) {
	from := map[string]map[int32]kgo.Offset{o.Topic: {o.Partition: kgo.NewOffset().At(o.Offset)}}
	client := o.connect(kgo.ConsumePartitions(from))
	defer client.Close()
	records, _, err := take(ctx, client, o.Count)
	return records, err
}

func (o options) member(reset string, more ...kgo.Opt) *kgo.Client {
	resets := map[string]kgo.Opt{
		"earliest": kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		"latest":   kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()),
		"none":     kgo.ConsumeStartOffset(kgo.NewOffset().AtCommitted()),
	}
	return o.connect(append(more,
		kgo.ConsumerGroup(o.Group),
		kgo.ConsumeTopics(o.Topic),
		resets[reset],
		kgo.SessionTimeout(time.Duration(o.SessionTimeoutMs)*time.Millisecond),
		kgo.HeartbeatInterval(time.Duration(o.HeartbeatIntervalMs)*time.Millisecond),
		// Soon enough for a topic that comes back.
		kgo.MetadataMinAge(time.Second),
		// An eager balancer, because the step looks at whole assignments.
		kgo.Balancers(kgo.RangeBalancer()),
	)...)
}

func (o options) join(ctx context.Context) (any, error) {
	assigned := func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		emit(event{"event": "assigned", "partitions": append([]int32{}, partitions[o.Topic]...)})
	}
	// Otherwise it might tell of an assignment while it still tells of what it polled before.
	client := o.member(o.Reset, kgo.OnPartitionsAssigned(assigned), kgo.BlockRebalanceOnPoll())
	defer client.CloseAllowingRebalance()
	ctx, leave := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		leave()
	}()
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, nil
		}
		for _, record := range fetches.Records() {
			found := plainOf(record)
			emit(event{
				"event": "record", "partition": found.Partition, "offset": found.Offset, "key": found.Key, "value": found.Value,
			})
		}
		client.AllowRebalance()
		err := fetches.Err()
		var lostGroup *kgo.ErrGroupSession
		switch {
		case errors.As(err, &lostGroup):
			// It joins anew by itself, and only tells.
		case errors.Is(err, kerr.UnknownTopicID):
			// As with the producer: it forgets the old topic, and then consumes the new one.
			client.PurgeTopicsFromConsuming(o.Topic)
			client.AddConsumeTopics(o.Topic)
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			// It goes on asking, and only tells.
		case err != nil && o.Patient:
			// It tells of brokers that went away, and goes on by itself.
			fmt.Fprintln(os.Stderr, err)
		case err != nil:
			return nil, err
		}
	}
}

func (o options) consumeAndCommit(ctx context.Context) (any, error) {
	client := o.member("earliest", kgo.DisableAutoCommit())
	defer client.Close()
	records, last, err := take(ctx, client, o.Count)
	if err != nil {
		return nil, err
	}
	return records, client.CommitRecords(ctx, last)
}

func (o options) committedOffset(ctx context.Context) (any, error) {
	client := o.connect()
	defer client.Close()
	offsets, err := kadm.NewClient(client).FetchOffsets(ctx, o.Group)
	if err != nil {
		return nil, err
	}
	found, ok := offsets.Lookup(o.Topic, o.Partition)
	if !ok {
		return nil, errors.New("no offset")
	}
	return found.At, found.Err
}

func (o options) commitOffset(ctx context.Context) (any, error) {
	client := o.connect()
	defer client.Close()
	offsets := kadm.Offsets{}
	offsets.AddOffset(o.Topic, o.Partition, o.Offset, -1)
	return nil, kadm.NewClient(client).CommitAllOffsets(ctx, o.Group, offsets)
}

func (o options) createTopic(ctx context.Context) (any, error) {
	client := o.connect()
	defer client.Close()
	created, err := kadm.NewClient(client).CreateTopic(ctx, o.Partitions, 1, o.Configs, o.Topic)
	return nil, errors.Join(err, created.Err)
}

func (o options) describeTopic(ctx context.Context) (any, error) {
	client := o.connect()
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx, o.Topic)
	if err != nil {
		return nil, err
	}
	leaders := []int32{}
	for _, partition := range topics[o.Topic].Partitions.Sorted() {
		leaders = append(leaders, partition.Leader)
	}
	return event{"partitions": len(leaders), "leaders": leaders}, topics[o.Topic].Err
}

func (o options) deleteTopic(ctx context.Context) (any, error) {
	client := o.connect()
	defer client.Close()
	deleted, err := kadm.NewClient(client).DeleteTopic(ctx, o.Topic)
	return nil, errors.Join(err, deleted.Err)
}

func main() {
	var o options
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		panic(err)
	}
	operation := map[string]func(context.Context) (any, error){
		"produce":          o.produce,
		"sendLines":        o.sendLines,
		"keepProducing":    o.keepProducing,
		"readPartition":    o.readPartition,
		"join":             o.join,
		"consumeAndCommit": o.consumeAndCommit,
		"committedOffset":  o.committedOffset,
		"commitOffset":     o.commitOffset,
		"createTopic":      o.createTopic,
		"describeTopic":    o.describeTopic,
		"deleteTopic":      o.deleteTopic,
	}[o.Operation]
	value, err := operation(context.Background())
	if err != nil {
		emit(event{"event": "error", "message": err.Error()})
		os.Exit(1)
	}
	emit(event{"event": "result", "value": value})
}
