// Runs one operation with sarama; ../../driver-io.mjs says how it is asked and how it answers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"
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

var printing sync.Mutex

// Claims are consumed side by side, so this is called from several goroutines.
func emit(event event) {
	line, _ := json.Marshal(event)
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(string(line))
}

func text(data []byte) *string {
	if data == nil {
		return nil
	}
	value := string(data)
	return &value
}

func plainOf(message *sarama.ConsumerMessage) plain {
	return plain{message.Partition, message.Offset, text(message.Key), text(message.Value)}
}

func (o options) brokers() []string {
	return []string{o.BootstrapServers}
}

func (o options) config() *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID = o.ClientID
	// It does not ask the broker, and would send what a broker of old understands.
	config.Version = sarama.MaxVersion
	return config
}

var codecs = map[string]sarama.CompressionCodec{
	"":       sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

func (o options) producer() (sarama.SyncProducer, error) {
	config := o.config()
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Compression = codecs[o.Codec]
	if o.Idempotent {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	// Enough to outlast a broker that starts again.
	config.Producer.Retry.Max = 30
	return sarama.NewSyncProducer(o.brokers(), config)
}

func (o options) produce() (any, error) {
	producer, err := o.producer()
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, 0, len(o.Records))
	for _, each := range o.Records {
		message := &sarama.ProducerMessage{Topic: o.Topic, Key: sarama.StringEncoder(each.Key)}
		if each.Value != nil {
			message.Value = sarama.StringEncoder(*each.Value)
		}
		for _, header := range each.Headers {
			message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header[0]), Value: []byte(header[1])})
		}
		messages = append(messages, message)
	}
	err = producer.SendMessages(messages)
	var failed sarama.ProducerErrors
	if errors.As(err, &failed) {
		// The error of all only counts them.
		return nil, failed[0].Err
	}
	return nil, err
}

func (o options) sendLines() (any, error) {
	producer, err := o.producer()
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		value := sarama.StringEncoder(lines.Text())
		message := &sarama.ProducerMessage{Topic: o.Topic, Key: sarama.StringEncoder("k-" + lines.Text()), Value: value}
		if _, _, err := producer.SendMessage(message); err != nil {
			return nil, err
		}
	}
	return nil, lines.Err()
}

func (o options) readPartition() (any, error) {
	consumer, err := sarama.NewConsumer(o.brokers(), o.config())
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(o.Topic, o.Partition, o.Offset)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	records := []plain{}
	for message := range partition.Messages() {
		if records = append(records, plainOf(message)); len(records) == o.Count {
			break
		}
	}
	return records, nil
}

// A member of a group: it tells of its assignments and hands every message to `take`.
type member struct {
	topic    string
	assigned func(partitions []int32)
	take     func(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage)
}

func (m member) Setup(session sarama.ConsumerGroupSession) error {
	m.assigned(append([]int32{}, session.Claims()[m.topic]...))
	return nil
}

func (m member) Cleanup(sarama.ConsumerGroupSession) error {
	return nil
}

func (m member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			m.take(session, message)
		case <-session.Context().Done():
			return nil
		}
	}
}

func (o options) group(reset string, autoCommit bool) (sarama.ConsumerGroup, error) {
	config := o.config()
	config.Consumer.Group.Session.Timeout = time.Duration(o.SessionTimeoutMs) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = time.Duration(o.HeartbeatIntervalMs) * time.Millisecond
	config.Consumer.Offsets.AutoCommit.Enable = autoCommit
	if reset == "earliest" {
		config.Consumer.Offsets.Initial = sarama.OffsetOldest
	}
	return sarama.NewConsumerGroup(o.brokers(), o.Group, config)
}

// Each call of Consume is one generation; it returns when the group rebalances, and is called again.
func (o options) consume(ctx context.Context, group sarama.ConsumerGroup, member member) error {
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{o.Topic}, member); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (o options) join() (any, error) {
	group, err := o.group(o.Reset, true)
	if err != nil {
		return nil, err
	}
	defer group.Close()
	ctx, leave := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		leave()
	}()
	return nil, o.consume(ctx, group, member{
		topic: o.Topic,
		assigned: func(partitions []int32) {
			emit(event{"event": "assigned", "partitions": partitions})
		},
		take: func(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) {
			found := plainOf(message)
			emit(event{
				"event": "record", "partition": found.Partition, "offset": found.Offset, "key": found.Key, "value": found.Value,
			})
			session.MarkMessage(message, "")
		},
	})
}

func (o options) consumeAndCommit() (any, error) {
	group, err := o.group("earliest", false)
	if err != nil {
		return nil, err
	}
	defer group.Close()
	ctx, leave := context.WithCancel(context.Background())
	records := []plain{}
	err = o.consume(ctx, group, member{
		topic:    o.Topic,
		assigned: func([]int32) {},
		take: func(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) {
			if len(records) == o.Count {
				return
			}
			records = append(records, plainOf(message))
			session.MarkMessage(message, "")
			if len(records) == o.Count {
				session.Commit()
				leave()
			}
		},
	})
	return records, err
}

func (o options) withAdmin(work func(admin sarama.ClusterAdmin) (any, error)) (any, error) {
	admin, err := sarama.NewClusterAdmin(o.brokers(), o.config())
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	return work(admin)
}

func kafkaError(err sarama.KError) error {
	if err == sarama.ErrNoError {
		return nil
	}
	return err
}

func (o options) committedOffset() (any, error) {
	return o.withAdmin(func(admin sarama.ClusterAdmin) (any, error) {
		offsets, err := admin.ListConsumerGroupOffsets(o.Group, map[string][]int32{o.Topic: {o.Partition}})
		if err != nil {
			return nil, err
		}
		block := offsets.GetBlock(o.Topic, o.Partition)
		return block.Offset, kafkaError(block.Err)
	})
}

func (o options) commitOffset() (any, error) {
	return o.withAdmin(func(admin sarama.ClusterAdmin) (any, error) {
		offset := sarama.OffsetAndMetadata{Offset: o.Offset, LeaderEpoch: -1}
		offsets := map[string]map[int32]sarama.OffsetAndMetadata{o.Topic: {o.Partition: offset}}
		answer, err := admin.AlterConsumerGroupOffsets(o.Group, offsets, nil)
		if err != nil {
			return nil, err
		}
		return nil, kafkaError(answer.Errors[o.Topic][o.Partition])
	})
}

func (o options) createTopic() (any, error) {
	return o.withAdmin(func(admin sarama.ClusterAdmin) (any, error) {
		detail := &sarama.TopicDetail{NumPartitions: o.Partitions, ReplicationFactor: 1, ConfigEntries: o.Configs}
		return nil, admin.CreateTopic(o.Topic, detail, false)
	})
}

func (o options) describeTopic() (any, error) {
	return o.withAdmin(func(admin sarama.ClusterAdmin) (any, error) {
		topics, err := admin.DescribeTopics([]string{o.Topic})
		if err != nil {
			return nil, err
		}
		leaders := []int32{}
		for _, partition := range topics[0].Partitions {
			leaders = append(leaders, partition.Leader)
		}
		return event{"partitions": len(leaders), "leaders": leaders}, kafkaError(topics[0].Err)
	})
}

func (o options) deleteTopic() (any, error) {
	return o.withAdmin(func(admin sarama.ClusterAdmin) (any, error) {
		return nil, admin.DeleteTopic(o.Topic)
	})
}

func main() {
	var o options
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		panic(err)
	}
	operation := map[string]func() (any, error){
		"produce":          o.produce,
		"sendLines":        o.sendLines,
		"readPartition":    o.readPartition,
		"join":             o.join,
		"consumeAndCommit": o.consumeAndCommit,
		"committedOffset":  o.committedOffset,
		"commitOffset":     o.commitOffset,
		"createTopic":      o.createTopic,
		"describeTopic":    o.describeTopic,
		"deleteTopic":      o.deleteTopic,
	}[o.Operation]
	value, err := operation()
	if err != nil {
		emit(event{"event": "error", "message": err.Error()})
		os.Exit(1)
	}
	emit(event{"event": "result", "value": value})
}
